"""Keep a log of a session from which it can be resumed after it was killed."""

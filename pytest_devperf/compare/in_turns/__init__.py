"""Compare old and new code that were measured in turns."""

"""The devices of a session: which there are, and whether they are ready."""

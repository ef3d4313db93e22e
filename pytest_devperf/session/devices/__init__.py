"""The devices of a session, and their readiness."""

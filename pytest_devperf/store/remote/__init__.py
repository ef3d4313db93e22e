"""Runs in a remote store."""

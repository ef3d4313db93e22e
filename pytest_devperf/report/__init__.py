"""Render reports as text for people and machines."""

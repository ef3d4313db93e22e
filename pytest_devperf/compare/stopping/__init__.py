"""Decide when a case was measured often enough."""

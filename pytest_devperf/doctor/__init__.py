"""Examine whether a device is fit to measure on: what disturbs it, what that costs, and what can be done about it."""

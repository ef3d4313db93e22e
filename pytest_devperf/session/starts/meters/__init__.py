"""Measure, count or run once what a test passes to the fixture."""

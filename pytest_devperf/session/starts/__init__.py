"""Measure one process start of one case."""

"""Explain a change: profiles of a workload, their difference, and what the difference names."""

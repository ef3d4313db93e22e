"""Synthetic inputs: pure functions of their parameters, byte-identical everywhere."""

"""Measure process starts: warmup, rounds, anchor, cooldown and stability."""

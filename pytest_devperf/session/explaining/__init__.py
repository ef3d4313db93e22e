"""Explain verdicts: profile the old and the new code in process starts of their own, after all measuring."""

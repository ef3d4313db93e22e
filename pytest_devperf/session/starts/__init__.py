"""One process start of one case: all that a fresh interpreter needs to measure."""

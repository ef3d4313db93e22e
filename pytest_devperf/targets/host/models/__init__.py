"""Models that a runtime of this machine executes."""

"""Save runs and read them again."""

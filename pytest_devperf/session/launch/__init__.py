"""Launch process starts: fresh interpreters, and pairs of them."""

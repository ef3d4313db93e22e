"""Launch process starts: fresh interpreters, pairs of them, devices, apps."""

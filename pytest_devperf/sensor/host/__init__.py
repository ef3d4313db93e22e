"""Read the sensors of this machine."""

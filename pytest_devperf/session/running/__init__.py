"""Run process starts: in fresh interpreters of this machine, and on devices that start their own processes."""

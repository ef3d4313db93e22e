"""Programs of this machine, started and measured."""

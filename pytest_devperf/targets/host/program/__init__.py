"""Programs on this machine, started and measured."""

"""Test every parser with seeded damage: only expected exceptions, and work and memory in proportion to the input."""

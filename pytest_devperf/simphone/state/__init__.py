"""The state of a simulated phone over time, and the facts in which families of phones differ."""

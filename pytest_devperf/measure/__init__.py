"""How: rounds, process starts, warm-up, cooldown, anchor and stability."""

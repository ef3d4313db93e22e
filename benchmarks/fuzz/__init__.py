"""Every parser under seeded damage: no foreign exception, no more work and memory than the input's length allows."""

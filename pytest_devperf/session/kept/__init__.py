"""What a session reads from the store and keeps in it: baselines, runs and documents."""

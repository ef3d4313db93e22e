"""Read and save a session's data: baselines, runs and documents."""

"""Where records wait for the next run."""

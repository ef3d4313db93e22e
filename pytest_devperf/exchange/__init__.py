"""Read the results of other tools, and write ours in the formats that other tools read."""

"""The file system, processes and network of a simulated phone."""

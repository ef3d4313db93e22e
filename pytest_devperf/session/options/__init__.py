"""Read and validate options, ini keys and marker keywords."""

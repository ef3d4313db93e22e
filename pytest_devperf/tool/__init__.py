"""Convert the output of benchmark tools to samples."""

"""Parse the output of benchmark tools into samples: one `parse_*(text)` function per tool."""

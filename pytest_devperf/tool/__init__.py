"""What native tools print, made into samples: one `parse_*(text)` each."""

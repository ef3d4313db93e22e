"""Centre, spread, interval and ratio: plain mathematics on lists of numbers."""

"""The rule: decide whether a metric became slower, and what the comparison could have detected."""

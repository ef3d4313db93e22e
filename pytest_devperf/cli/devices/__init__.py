"""The verbs about devices."""

"""The verbs about saved runs."""

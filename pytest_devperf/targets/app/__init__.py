"""Apps that host their own cases: how they are started, and what they report."""

"""Apps that host their own cases: how they are started, and the reports they send."""

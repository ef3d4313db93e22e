"""Measure the error rates of verdicts: our rule, the literal rule and those of other tools on virtual devices."""

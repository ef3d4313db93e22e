"""Compare records with baselines: policy, comparability, verdict."""

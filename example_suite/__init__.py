"""A suite as a user would write it: small models of ten kinds, alone and inside their pipelines."""

"""Programs of others on a phone: commands of a test, and the tools of model formats."""

"""Third-party programs on a phone: commands of a test, and the tools of model formats."""

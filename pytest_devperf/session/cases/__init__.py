"""The state of each case: what its process starts found, and the values made of it."""

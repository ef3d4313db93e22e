"""The suite's models: built here with weights that are known, or found in installed packages."""

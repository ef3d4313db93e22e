"""The records of a run: raw samples, context, cautions, and the run document."""

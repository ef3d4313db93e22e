"""The code of a git revision, made importable beside today's (`--devperf-against=REV`)."""

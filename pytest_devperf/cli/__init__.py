"""The `devperf` command: the plugin's words without pytest."""

"""Access through this machine's adb server: phones, scripts, streams and files."""

"""The adb server of this machine and what goes through it: phones, scripts, streams and files."""

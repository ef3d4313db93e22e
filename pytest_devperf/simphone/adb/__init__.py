"""The adb protocol and services of a simulated phone."""

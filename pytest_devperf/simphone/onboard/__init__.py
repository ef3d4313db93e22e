"""What runs on a simulated phone itself: its first process, and the file service of its adb daemon.

These modules are loaded by an interpreter that has nothing but the standard library (`python -I -S`), so that a phone
boots in a few hundredths of a second: they import each other and nothing else of this package.
"""

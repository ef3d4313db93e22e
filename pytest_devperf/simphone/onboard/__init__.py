"""The programs that run on a simulated phone: its first process, and the file service of its adb daemon.

An interpreter with only the standard library (`python -I -S`) loads these modules, so that a phone boots in
a few hundredths of a second. They import each other and nothing else of this package.
"""

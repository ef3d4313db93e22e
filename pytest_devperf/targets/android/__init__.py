"""An Android phone as a target, reached through adb."""

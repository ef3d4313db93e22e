"""A phone made of arithmetic behind the genuine adb."""

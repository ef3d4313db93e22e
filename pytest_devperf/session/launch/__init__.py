"""How a process start is brought about: in a fresh interpreter, in a pair of them, on a device, by an app."""

"""Example plugins of pytest-devperf: a board, a store, a sensor and a reader."""

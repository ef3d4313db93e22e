"""The pytest edge: hooks, options, markers, the fixture and the passes."""

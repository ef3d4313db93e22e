"""The `devperf` command: the plugin's words without pytest.

A verb is a file: module `<verb>` with `add_arguments(parser)` and `run(arguments) -> exit code`, and a
row in `command.VERBS`. It is imported when it is called.
"""

from __future__ import annotations

from pytest_devperf.cli.command import main

__all__ = ["main"]

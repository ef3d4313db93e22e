"""The `devperf` command: compares and shows runs without pytest.

Each verb is a module with `add_arguments(parser)`, `run(arguments) -> exit code` and `EXAMPLES`, and has a row in
`command.VERBS`. It is imported when it is used. `runs/` contains the verbs about saved runs, `devices/` the others.
"""

from __future__ import annotations

from pytest_devperf.cli.command import main

__all__ = ["main"]

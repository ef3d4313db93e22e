"""The `devperf` command: compares and shows runs without pytest.

Each verb is a module `<verb>` with `add_arguments(parser)` and `run(arguments) -> exit code`, and an entry in
`command.VERBS`. It is imported when the verb is used.
"""

from __future__ import annotations

from pytest_devperf.cli.command import main

__all__ = ["main"]

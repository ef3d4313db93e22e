"""What the command gives back: exit codes, and text for people, pipes and terminals of any encoding."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from pytest_devperf.report.plain import encodable
from pytest_devperf.untrusted import printable

EXIT_FAILED = 1
"""Something regressed, or nothing was compared."""

EXIT_USAGE = 4
"""The call cannot be carried out as given; pytest's own code for it."""


def say(text: str) -> None:
    """Print to standard output; a reader that has gone away (`| head`) is no error."""
    _write(text, sys.stdout)


def complain(text: str) -> None:
    """Print to standard error."""
    _write(text, sys.stderr)


def show_live(line: str) -> None:
    """Replace the live line on standard error, if that is a terminal; an empty line takes it away."""
    if sys.stderr.isatty():
        shown = encodable(printable(line), sys.stderr.encoding)[: columns() - 1]
        print(f"\r\x1b[K{shown}", end="", file=sys.stderr, flush=True)


def columns() -> int:
    """Characters of a line: the terminal's width; wide for a pipe, which nobody wraps for."""
    import shutil

    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else _width_of_pipe()


def _width_of_pipe() -> int:
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdigit() and int(asked) else 160


def _write(text: str, stream: TextIO) -> None:
    # Stores, files and phones name much of what is printed here: nothing of it may command the terminal.
    safe = "\n".join(map(printable, text.split("\n")))
    try:
        print(encodable(safe, stream.encoding), file=stream, flush=True)
    except BrokenPipeError:
        # What is still buffered goes nowhere, or the interpreter would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

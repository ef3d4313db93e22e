"""What the command gives back: exit codes, and text for people, pipes and terminals of any encoding."""

from __future__ import annotations

import os
import sys
from typing import TextIO

EXIT_FAILED = 1
"""Something regressed, or nothing was compared."""

EXIT_USAGE = 4
"""The call cannot be carried out as given; pytest's own code for it."""

_PLAIN = {"µ": "u", "°": "", "…": "...", "Δ": "d"}
"""Spellings for an encoding that lacks our few characters beyond ASCII."""


def say(text: str) -> None:
    """Print to standard output; a reader that has gone away (`| head`) is no error."""
    _write(text, sys.stdout)


def complain(text: str) -> None:
    """Print to standard error."""
    _write(text, sys.stderr)


def columns() -> int:
    """Characters of a line: the terminal's width; wide for a pipe, which nobody wraps for."""
    import shutil

    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else _width_of_pipe()


def _width_of_pipe() -> int:
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdigit() and int(asked) else 160


def _write(text: str, stream: TextIO) -> None:
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        for char, plain in _PLAIN.items():
            text = text.replace(char, plain)
        text = text.encode(encoding, errors="backslashreplace").decode(encoding)
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        # What is still buffered goes nowhere, or the interpreter would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

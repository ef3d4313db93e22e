"""Exit codes, and printing of text to pipes and terminals of any encoding."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from pytest_devperf.report.terminal.plain import encodable
from pytest_devperf.untrusted import format_json, printable

if TYPE_CHECKING:
    from pytest_devperf.record.record import Run

EXIT_FAILED = 1
"""A case regressed, or nothing was compared."""

EXIT_USAGE = 4
"""The command cannot be carried out as given; the same code as pytest's."""


def echo(text: str) -> None:
    """Print to standard output; a closed pipe (`| head`) is not an error."""
    _write(text, sys.stdout)


def echo_json(value: object) -> None:
    """Print plain data as JSON."""
    echo(format_json(value))


def echo_runs(runs: Sequence[Run]) -> None:
    """Print runs as a run document."""
    import json

    from pytest_devperf.record.codec import encode
    from pytest_devperf.record.record import Document

    echo_json(json.loads(encode(Document(runs=tuple(runs)))))


def echo_error(text: str) -> None:
    """Print to standard error."""
    _write(text, sys.stderr)


def show_live(line: str) -> None:
    """Replace the live line on standard error, if that is a terminal; an empty line deletes it."""
    if sys.stderr.isatty():
        shown = encodable(printable(line), sys.stderr.encoding)[: columns() - 1]
        print(f"\r\x1b[K{shown}", end="", file=sys.stderr, flush=True)


def columns() -> int:
    """Return the line width: that of the terminal, or a large one for a pipe, which does not wrap."""
    import shutil

    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else _width_of_pipe()


def _width_of_pipe() -> int:
    asked = os.environ.get("COLUMNS", "")
    return int(asked) if asked.isdigit() and int(asked) else 160


def _write(text: str, stream: TextIO) -> None:
    # Much of this text comes from stores, files and phones: it must not control the terminal.
    safe = "\n".join(map(printable, text.split("\n")))
    try:
        print(encodable(safe, stream.encoding), file=stream, flush=True)
    except BrokenPipeError:
        # Discard the rest of the buffer, or the interpreter would report an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

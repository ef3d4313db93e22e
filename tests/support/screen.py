"""Run a program on a terminal and record what a user sees."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyte
import pytest

pty = pytest.importorskip("pty")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

ROWS = 150
"""More than any session here writes: nothing scrolls away."""


@dataclass(slots=True)
class Seen:
    """The contents of a terminal."""

    frames: list[list[str]] = field(default_factory=list)
    """The rows after every step, without blanks at their ends."""
    colours: list[list[str]] = field(default_factory=list)
    """Colour of every cell at the end."""
    code: int = 0

    @property
    def rows(self) -> list[str]:
        """The rows at the end."""
        return self.frames[-1]

    @property
    def text(self) -> str:
        """All of it at the end."""
        return "\n".join(self.rows).strip("\n")

    def colour_of(self, words: str) -> str:
        """Name the colour of the first occurrence of some words at the end."""
        row, column = next((at, row.index(words)) for at, row in enumerate(self.rows) if words in row)
        (colour,) = set(self.colours[row][column : column + len(words)])
        return colour


def run_on_terminal(argv: Sequence[str], *, columns: int, environment: Mapping[str, str] | None = None) -> Seen:
    """Run a program on a new terminal until it exits."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))  # rows, columns, pixels
    variables = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
    variables |= {"TERM": "xterm", **(environment or {})}
    with subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=variables) as process:
        os.close(theirs)
        written = b"".join(_read(ours))
    os.close(ours)
    seen = replay(written, columns)
    seen.code = process.returncode
    return seen


def replay(written: bytes, columns: int) -> Seen:
    """Return the output step by step: a step ends with every line, and when a part of a line is erased."""
    screen = pyte.Screen(columns, ROWS)
    stream = pyte.ByteStream(screen)
    seen = Seen()
    for line in written.splitlines(keepends=True):
        for part in line.replace(b"\x1b[K", b"\x1b[K\x00").split(b"\x00"):
            stream.feed(part)
            seen.frames.append(seen.frames[-1].copy() if seen.frames else [""] * ROWS)
            for row in screen.dirty:
                seen.frames[-1][row] = _text(screen, row)
            screen.dirty.clear()
    seen.colours = [[screen.buffer[row][column].fg for column in range(columns)] for row in range(ROWS)]
    return seen


def _text(screen: pyte.Screen, row: int) -> str:
    cells = screen.buffer[row]
    return "".join(cells[column].data for column in range(screen.columns)).rstrip()


def _read(descriptor: int) -> Iterator[bytes]:
    """Read all that is written to a terminal until its last writer is gone."""
    try:
        while chunk := os.read(descriptor, 65536):
            yield chunk
    except OSError:  # Linux reports the end like this
        pass

"""Keeps standard output for one file alone (`--devperf-json=-`), so that a program can read it from a pipe.

Everything else that would be printed there goes to standard error: pytest's report, what tests print under `-s`,
and what the programs that they start print. It is done before pytest begins to capture, which remembers where
standard output leads.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from pytest_devperf.errors import StoreError

if TYPE_CHECKING:
    from typing import TextIO

NAME = "-"
"""Name of standard output in place of a file's name."""

STDOUT, STDERR = 1, 2
"""File descriptors."""


class DocumentOutput:
    """What standard output was before it was led to standard error."""

    def __init__(self) -> None:
        self._stream: TextIO = sys.stdout
        self._descriptor: int | None = None
        if _descriptor_of(self._stream) != STDOUT:
            sys.stdout = sys.stderr  # replaced by an object: a notebook, another program's capture
            return
        self._stream.flush()
        self._descriptor = os.dup(STDOUT)
        os.dup2(_descriptor_for_people(), STDOUT)
        reconfigure: Any = getattr(self._stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(line_buffering=True)  # a pipe's buffer is large, and people read this now

    def write(self, data: bytes) -> None:
        """Write the document.

        Raises:
            StoreError: Nobody reads it any more, or the disk behind it is full.
        """
        try:
            if self._descriptor is None:
                self._stream.write(data.decode())
                self._stream.flush()
                return
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except (OSError, ValueError) as error:
            words = getattr(error, "strerror", None) or str(error)
            raise StoreError(f"standard output cannot be written ({words.lower()})", "name a file instead") from error

    def give_back(self) -> None:
        """Restore standard output."""
        if self._descriptor is None:
            sys.stdout = self._stream
            return
        self._stream.flush()
        os.dup2(self._descriptor, STDOUT)
        os.close(self._descriptor)


def words_for(name: str) -> str:
    """Call the place of a document by its name.

    >>> words_for("run.json"), words_for("-")
    ('run.json', 'standard output')
    """
    return "standard output" if name == NAME else name


def _descriptor_of(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _descriptor_for_people() -> int:
    """Give standard error's descriptor; one that leads nowhere if it is closed."""
    try:
        os.fstat(STDERR)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
    return STDERR

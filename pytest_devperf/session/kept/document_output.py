"""Reserve standard output for one file (`--devperf-json=-`), so that a program can read it from a pipe.

Everything else goes to standard error: pytest's report, the output of tests under `-s`, and that of programs they
start. The redirection precedes pytest's capturing, which remembers the target of standard output.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from pytest_devperf.errors import StoreError

if TYPE_CHECKING:
    from typing import TextIO

NAME = "-"
"""Name of standard output in place of a file name."""

STDOUT, STDERR = 1, 2
"""File descriptors."""


class DocumentOutput:
    """The original standard output, before its redirection to standard error."""

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
            reconfigure(line_buffering=True)  # a pipe's buffer is large, and users read this live

    def write(self, data: bytes) -> None:
        """Write the document.

        Raises:
            StoreError: Nothing reads it any more, or its disk is full.
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
    """Return the name of a document's destination for messages.

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
    """Return the descriptor of standard error, or that of the null device if standard error is closed."""
    try:
        os.fstat(STDERR)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
    return STDERR

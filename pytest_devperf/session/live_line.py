"""The file behind a terminal writer, with a live line that disappears before pytest writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TextIO

from pytest_devperf.report.terminal.plain import encodable

NAME = "devperf: "
"""Beginning of the live line, so that it is not taken for output of pytest or the test."""

CLEAR_TO_END = "\x1b[K"
UP = "\x1b[1A"


class LiveLine:
    """Passes on pytest's output, and shows one live line in between.

    pytest leaves lines unfinished (`test_a.py ..`) and continues them later. Therefore the live line is in the row
    below, the cursor returns to its place in pytest's line, and the row is cleared before pytest writes again.

    Characters that the encoding lacks are replaced by plain letters; pytest would escape the whole text, newlines
    included.
    """

    def __init__(self, file: TextIO, width: Callable[[str], int]) -> None:
        """Prepare the live line, without showing it.

        Args:
            file: The file that pytest writes to.
            width: Counts the cells that a text takes on a terminal.
        """
        self._file = file
        self._width = width
        self._live = ""
        self._column = 0
        self.shows_live = file.isatty() and os.environ.get("TERM") != "dumb"
        """Whether the file is a terminal that supports erasing."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the file has
        """Return any other attribute of the file."""
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        """Write pytest's output; first erase the live line."""
        self.erase()
        return self._file.write(encodable(text, self._file.encoding))

    @property
    def room(self) -> int:
        """Width of the live line in cells; the last column stays free because some terminals wrap there."""
        return self._columns() - len(NAME) - 1

    def draw(self, text: str, column: int) -> None:
        """Show a live line, in place of the previous one.

        Args:
            text: The line; it is cut at the end if it is too long for the terminal.
            column: Column of the cursor in pytest's line, in cells.
        """
        shown = NAME + self._cut(encodable(text, self._file.encoding))
        if shown == self._live:
            return
        self._column = column
        self._live = shown
        self._put(shown)

    def erase(self) -> None:
        """Erase the live line."""
        if self._live:
            self._live = ""
            self._put("")

    def _put(self, text: str) -> None:
        """Replace the content of the live line's row and return the cursor."""
        if self._column:
            column = (self._column - 1) % self._columns() + 1  # a line may have wrapped
            self._file.write(f"\r\n{text}{CLEAR_TO_END}\r{UP}\x1b[{column}C")
        else:
            self._file.write(f"\r{text}{CLEAR_TO_END}\r")
        self._file.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._file.fileno()).columns
        except (OSError, ValueError):  # no file descriptor, or not that of a terminal
            return 80  # the traditional width of terminals

    def _cut(self, text: str) -> str:
        """Cut a text to the cells that a live line has; wide characters take two."""
        while self._width(text) > self.room:
            text = text[:-1]
        return text

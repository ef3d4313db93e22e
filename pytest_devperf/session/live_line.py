"""The file behind a terminal writer, with a live line that disappears before pytest writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TextIO

from pytest_devperf.report.plain import encodable

NAME = "devperf: "
"""How the live line begins, so that nobody takes it for pytest's or the test's."""

CLEAR_TO_END = "\x1b[K"
UP = "\x1b[1A"


class LiveLine:
    """Passes on what pytest writes, and shows one live line in between.

    pytest leaves lines unfinished (`test_a.py ..`) and later continues them, so the live line stands in the row
    below, the cursor returns to where pytest left it, and the row is empty again before pytest writes on.

    Characters that the encoding lacks are written in plain letters; pytest would escape the whole text, newlines
    included.
    """

    def __init__(self, file: TextIO, width: Callable[[str], int]) -> None:
        """Show nothing yet.

        Args:
            file: What pytest writes to.
            width: Counts the cells that a text takes on a terminal.
        """
        self._file = file
        self._width = width
        self._live = ""
        self._column = 0
        self.shows_live = file.isatty() and os.environ.get("TERM") != "dumb"
        """Whether this is a terminal that can erase what was written."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the file has
        """Everything else is the file's own."""
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        """Write what pytest has to say; the live line goes first."""
        self.erase()
        return self._file.write(encodable(text, self._file.encoding))

    @property
    def room(self) -> int:
        """Width of the live line in cells; the last column stays free because some terminals wrap there."""
        return self._columns() - len(NAME) - 1

    def draw(self, text: str, column: int) -> None:
        """Show a live line, in place of the one before.

        Args:
            text: The line; what is too long for the terminal is cut at the end.
            column: Where the cursor stands in pytest's line, in cells.
        """
        shown = NAME + self._cut(encodable(text, self._file.encoding))
        if shown == self._live:
            return
        self._column = column
        self._live = shown
        self._put(shown)

    def erase(self) -> None:
        """Take the live line away."""
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
        except (OSError, ValueError):  # no file descriptor, or none of a terminal
            return 80  # what terminals have had from the beginning

    def _cut(self, text: str) -> str:
        """Cut a text to the cells that a live line has; wide characters take two."""
        while self._width(text) > self.room:
            text = text[:-1]
        return text

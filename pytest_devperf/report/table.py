"""Rows of words laid out as a table that fits its terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_SHORTEST_NAME = 20
"""Characters of a case's name that still tell it from its neighbours; narrower tables are stacked."""

_CUT = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its heading, and whether it holds numbers (aligned right)."""

    heading: str
    number: bool = False


Row = tuple[str, ...]


def lay_out(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[str]:
    """Lay rows out in lines of at most `width` characters where that is possible at all.

    The first column is shortened in the middle first; where that does not suffice, every row becomes
    two lines: the first cell, and the other ones in a sentence.

    Args:
        columns: One per cell of a row; columns that are empty in every row are left out.
        rows: (rows, columns) cells. An empty first cell continues the row above.
        width: Characters of a line.
    """
    rows = [tuple(printable(cell) for cell in row) for row in rows]
    kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    columns = [columns[at] for at in kept]
    rows = [tuple(row[at] for at in kept) for row in rows]
    if not rows:
        return []
    lines = _tabulated(columns, rows)
    excess = max(map(len, lines)) - width
    if excess <= 0:
        return lines
    longest = max(len(row[0]) for row in rows)
    if longest - excess >= _SHORTEST_NAME:
        return _tabulated(columns, [(shorten(row[0], longest - excess), *row[1:]) for row in rows])
    return _stacked(columns, rows, width)


def shorten(text: str, length: int) -> str:
    """Cut a text in its middle: both ends of a node id carry meaning.

    >>> shorten("tests/test_speech.py::test_vad[cpu]", 20)
    'tests/t…est_vad[cpu]'
    """
    if len(text) <= length:
        return text
    tail = (length * 3) // 5
    return text[: max(0, length - tail - 1)] + _CUT + text[len(text) - tail :]


def printable(text: str) -> str:
    r"""Spell control characters out, so that no stored name moves the cursor or colours the terminal.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _tabulated(columns: Sequence[Column], rows: Sequence[Row]) -> list[str]:
    from tabulate import tabulate

    text = tabulate(
        rows,
        headers=[column.heading for column in columns],
        tablefmt="simple",
        disable_numparse=True,
        colalign=["right" if column.number else "left" for column in columns],
    )
    return [line.rstrip() for line in text.splitlines()]


def _stacked(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[str]:
    """Give every row a line for its first cell and indented lines for the others."""
    from textwrap import wrap

    lines: list[str] = []
    for row in rows:
        if row[0]:
            lines.append(shorten(row[0], max(width, _SHORTEST_NAME)))
        words = [
            f"{column.heading} {cell}" if column.number else cell
            for column, cell in zip(columns[1:], row[1:], strict=True)
            if cell
        ]
        indent = "  "
        lines += wrap(", ".join(words), max(width, 12), initial_indent=indent, subsequent_indent=indent * 2)
    return lines

"""Rows of words laid out as a table that fits its terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_devperf.untrusted import printable

_SHORTEST_NAME = 20
"""Characters of a case's name that still tell it from its neighbours; narrower tables are stacked."""

_CUT = "…"

_INDENT = "  "

_UNIT = re.compile(r"(\d) (%|[a-zµ/]{1,2}\b|[KMG]iB\b|°C)")
"""A number and its unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

    heading: str
    number: bool = False
    """Whether it holds numbers, which are aligned right."""
    expendable: bool = False
    """Whether a narrow table does without it; the last such column goes first."""


Row = tuple[str, ...]


Line = tuple[str, str]
"""A line, and the last cell in it; empty if there is none."""


def lay_out(columns: Sequence[Column], rows: Sequence[Row], width: int, mark: Callable[[str], str] = str) -> list[str]:
    """Lay rows out in lines of at most `width` characters where that is possible at all.

    The first column is shortened in its middle; where that does not suffice its cells get lines of their
    own above their rows; where the others are still too wide, every row becomes a sentence.

    Args:
        columns: One per cell of a row; columns that are empty in every row are left out.
        rows: (rows, columns) cells. An empty first cell continues the row above.
        width: Characters of a line.
        mark: Marks the text of a last cell; what it adds takes no room.
    """
    return [f"{line.removesuffix(cell)}{mark(cell)}" if cell else line for line, cell in _lines(columns, rows, width)]


def _lines(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[Line]:
    rows = [tuple(printable(cell) for cell in row) for row in rows]
    kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    columns = [columns[at] for at in kept]
    rows = [tuple(row[at] for at in kept) for row in rows]
    if not rows:
        return []
    lines = _tabulated(columns, rows)
    excess = _width(lines) - width
    longest = max(len(row[0]) for row in rows)
    if excess > 0 and longest - excess >= _SHORTEST_NAME:
        return _tabulated(columns, [(shorten(row[0], longest - excess), *row[1:]) for row in rows])
    if excess > 0:
        lines = next((each for each in _narrower(columns, rows, width) if _width(each) <= width), [])
    return lines or _stacked(columns, rows, width)


def _width(lines: Sequence[Line]) -> int:
    return max(len(line) for line, _ in lines)


def _narrower(columns: Sequence[Column], rows: Sequence[Row], width: int) -> Iterator[list[Line]]:
    """Give grouped tables: the whole one, then with one expendable column less each time."""
    dropped = [at for at, column in enumerate(columns) if column.expendable]
    for count in range(len(dropped) + 1):
        kept = [at for at in range(len(columns)) if at not in dropped[len(dropped) - count :]]
        yield _grouped([columns[at] for at in kept], [tuple(row[at] for at in kept) for row in rows], width)


def shorten(text: str, length: int) -> str:
    """Cut a text in its middle: both ends of a node id carry meaning.

    >>> shorten("tests/test_speech.py::test_vad[cpu]", 20)
    'tests/t…est_vad[cpu]'
    """
    if len(text) <= length:
        return text
    tail = (length * 3) // 5
    return text[: max(0, length - tail - 1)] + _CUT + text[len(text) - tail :]


def wrapped(text: str, width: int, *, indent: str = "") -> list[str]:
    """Break a text between words into lines; a number stays with its unit, an id is never broken.

    >>> wrapped("no more than 0.25 ms of it", 20)
    ['no more than 0.25 ms', 'of it']

    Args:
        text: One paragraph.
        width: Characters of a line.
        indent: What later lines begin with.
    """
    from textwrap import wrap

    joined = _UNIT.sub("\\1\N{NO-BREAK SPACE}\\2", text)
    lines = wrap(
        joined, max(width, _SHORTEST_NAME), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _tabulated(columns: Sequence[Column], rows: Sequence[Row]) -> list[Line]:
    from tabulate import tabulate

    text = tabulate(
        rows,
        headers=[column.heading for column in columns],
        tablefmt="simple",
        disable_numparse=True,
        colalign=["right" if column.number else "left" for column in columns],
    )
    cells = ["", "", *(row[-1] for row in rows)]
    return [(line.rstrip(), cell) for line, cell in zip(text.splitlines(), cells, strict=True)]


def _grouped(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[Line]:
    """Give first cells lines of their own, above the other cells of their rows."""
    head, rule, *body = _tabulated(columns[1:], [row[1:] for row in rows])
    lines = [(_INDENT + line, cell) for line, cell in (head, rule)]
    for row, (line, cell) in zip(rows, body, strict=True):
        if row[0]:
            lines.append((shorten(row[0], width), ""))
        lines.append((_INDENT + line, cell))
    return lines


def _stacked(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[Line]:
    """Give every row a line for its first cell and an indented sentence for the others."""
    lines: list[Line] = []
    for row in rows:
        if row[0]:
            lines.append((shorten(row[0], max(width, _SHORTEST_NAME)), ""))
        words = [
            f"{column.heading} {cell}" if column.number else cell
            for column, cell in zip(columns[1:], row[1:], strict=True)
            if cell
        ]
        sentence = [_INDENT + line for line in wrapped(", ".join(words), width - len(_INDENT), indent=_INDENT)]
        whole = sentence and sentence[-1].endswith(row[-1])  # it may have been broken
        lines += [(line, "") for line in sentence[:-1]]
        lines += [(line, row[-1] if whole else "") for line in sentence[-1:]]
    return lines

"""Lay out rows as a table that fits the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_devperf.untrusted import printable

_SHORTEST_NAME = 20
"""Characters of a case's name that still distinguish it; narrower tables are stacked."""

_LEAST_OF_NAME = 0.6
"""Share of the longest name that is kept; if there is room for less, names are put on lines of their own instead."""

_CUT = "…"

_INDENT = "  "

_UNIT = re.compile(r"(\d) (%|[a-zµ/]{1,2}\b|[KMG]iB\b|°C)")
"""A number and its unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

    heading: str
    number: bool = False
    """Whether it contains numbers, which are right-aligned."""
    expendable: bool = False
    """Whether a narrow table may omit it; the last such column is omitted first."""


Row = tuple[str, ...]


Line = tuple[str, str]
"""A line, and its last cell; empty if there is none."""


def lay_out(columns: Sequence[Column], rows: Sequence[Row], width: int, mark: Callable[[str], str] = str) -> list[str]:
    """Lay rows out in lines of at most `width` characters, if possible.

    The first column is shortened in the middle. If that is not enough, its cells are put on separate lines
    above their rows. If the other columns are still too wide, every row becomes a sentence.

    Args:
        columns: One per cell of a row; a column without any content is left out.
        rows: (rows, columns) cells. An empty first cell continues the row above.
        width: Line width in characters.
        mark: Adds a mark to the text of a last cell; the mark does not count towards the width.
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
    if excess > 0 and longest - excess >= max(_SHORTEST_NAME, _LEAST_OF_NAME * longest):
        return _tabulated(columns, [(shorten(row[0], longest - excess), *row[1:]) for row in rows])
    if excess > 0:
        lines = next((each for each in _narrower(columns, rows, width) if _width(each) <= width), [])
    return lines or _stacked(columns, rows, width)


def _width(lines: Sequence[Line]) -> int:
    return max(len(line) for line, _ in lines)


def _narrower(columns: Sequence[Column], rows: Sequence[Row], width: int) -> Iterator[list[Line]]:
    """Return grouped tables: first with all columns, then with one expendable column fewer each time."""
    dropped = [at for at, column in enumerate(columns) if column.expendable]
    for count in range(len(dropped) + 1):
        kept = [at for at in range(len(columns)) if at not in dropped[len(dropped) - count :]]
        yield _grouped([columns[at] for at in kept], [tuple(row[at] for at in kept) for row in rows], width)


def shorten(text: str, length: int) -> str:
    """Cut a text in the middle, since both ends of a node id are meaningful.

    >>> shorten("tests/test_speech.py::test_vad[cpu]", 20)
    'tests/t…est_vad[cpu]'
    """
    if len(text) <= length:
        return text
    tail = (length * 3) // 5
    return text[: max(0, length - tail - 1)] + _CUT + text[len(text) - tail :]


def wrapped(text: str, width: int, *, indent: str = "") -> list[str]:
    """Wrap a text between words; a number is not separated from its unit, and an id is never broken.

    >>> wrapped("no more than 0.25 ms of it", 20)
    ['no more than 0.25 ms', 'of it']

    Args:
        text: One paragraph.
        width: Line width in characters.
        indent: Prefix of all lines but the first.
    """
    from textwrap import wrap

    joined = _UNIT.sub("\\1\N{NO-BREAK SPACE}\\2", text)
    lines = wrap(
        joined, max(width, _SHORTEST_NAME), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _tabulated(columns: Sequence[Column], rows: Sequence[Row]) -> list[Line]:
    from tabulate import tabulate

    headings = [column.heading for column in columns]
    # tabulate makes columns two characters wider than their headings, so the headings are a row like the others.
    rule = ["-" * max(map(len, cells)) for cells in zip(headings, *rows, strict=True)]
    text = tabulate(
        [headings, rule, *rows],
        tablefmt="plain",
        disable_numparse=True,
        colalign=["right" if column.number else "left" for column in columns],
    )
    cells = ["", "", *(row[-1] for row in rows)]
    return [(line.rstrip(), cell) for line, cell in zip(text.splitlines(), cells, strict=True)]


def _grouped(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[Line]:
    """Put first cells on separate lines above the other cells of their rows."""
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
        whole = sentence and sentence[-1].endswith(row[-1])  # it may have been wrapped
        lines += [(line, "") for line in sentence[:-1]]
        lines += [(line, row[-1] if whole else "") for line in sentence[-1:]]
    return lines

r"""Read text from other programs: tools, phones, stored files.

Every function takes time and memory in proportion to its input, for any input. A `parse_*` function that
cannot read its text returns None or raises `ValueError`, and nothing else.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

MOST_DIGITS = 18
"""Longest whole number that is read. It fits into 64 bits; longer ones are damaged data, and slow to convert."""

SHOWN_CHARACTERS = 300
"""Characters of foreign text that a message shows: enough to recognise it, in a few lines of a terminal."""

LAST_LINES = 10
"""Lines of a failed program's output that a message shows: an error and the end of its traceback."""

LINE_WIDTH = 160
"""Characters of such a line."""

_WHOLE = re.compile(rf"[+-]?[0-9]{{1,{MOST_DIGITS}}}")

_CUT = " ... "


def parse_whole(text: str | None) -> int | None:
    """Parse a whole number of at most 18 digits; return None for anything else.

    >>> parse_whole("-12"), parse_whole("1.5"), parse_whole("²"), parse_whole("9" * 19)
    (-12, None, None, None)
    """
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None


def parse_number(text: str | None) -> float | None:
    """Parse a finite number; return None for anything else.

    >>> parse_number("1.5e3"), parse_number("1.2.3"), parse_number("nan")
    (1500.0, None, None)
    """
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def parse_json(text: str | bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a JSON document.

    A whole number of more than 18 digits becomes a float, as in JavaScript.

    Raises:
        ValueError: It is not JSON, or nested more deeply than Python can read.
    """
    try:
        return _DECODER.decode(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_json_at(text: str, start: int) -> tuple[Any, int]:
    """Parse the JSON value that begins at an index, and return it with the index after it.

    Raises:
        json.JSONDecodeError: The value is incomplete; `pos` is its end.
        ValueError: It is nested more deeply than Python can read.
    """
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def printable(text: str) -> str:
    r"""Escape control characters, so that a name cannot move the cursor or change colours of the terminal.

    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def format_json(value: object) -> str:
    r"""Format plain data as JSON without any character that could control a terminal.

    >>> format_json({"é\x7f": 1})
    '{\n "\\u00e9\\u007f": 1\n}'
    """
    return json.dumps(value, indent=1, ensure_ascii=True).replace("\x7f", "\\u007f")


def excerpt(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """Cut a long text in the middle to at most the given number of characters.

    >>> excerpt("x" * 50 + "y" * 50, 13)
    'xxxx ... yyyy'
    """
    if len(text) <= most:
        return text
    half = (most - len(_CUT)) // 2
    return text[:half] + _CUT + text[len(text) - half :]


def last_lines(text: str, most: int = LAST_LINES) -> list[str]:
    r"""Return the last lines that are not blank, each cut to a width that a message can show.

    >>> last_lines("one\n\ntwo  \nthree\n", 2)
    ['two', 'three']
    """
    return [line.rstrip()[:LINE_WIDTH] for line in text.splitlines() if line.strip()][-most:]


def shown(value: object) -> str:
    """Format a value for a message; a long one is cut.

    >>> shown("a"), shown(10**5000)
    ("'a'", 'a value of type int')
    """
    try:
        return excerpt(repr(value))
    except Exception:  # noqa: BLE001 - an integer of 4300 digits has no repr, and a repr may raise anything
        return f"a value of type {type(value).__qualname__}"


def is_lfs_pointer(data: bytes) -> bool:
    """Return whether a file is the pointer that Git LFS leaves in place of a file that was not fetched.

    Source:
        git-lfs, docs/spec.md, "The Pointer".
    """
    return data.startswith(b"version https://git-lfs.github.com/spec/")


def _parse_int(digits: str) -> float:
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


_DECODER = json.JSONDecoder(parse_int=_parse_int)

"""Text for an output whose encoding lacks some of our characters."""

from __future__ import annotations

PLAIN = {"µ": "u", "°": "", "…": "~", "Δ": "d"}
"""Spellings of our characters beyond ASCII. A cut stays one character wide, or the columns of a table would shift."""


def encodable(text: str, encoding: str | None) -> str:
    r"""Spell a text with the characters of an encoding: ours in plain letters, others as escapes.

    >>> encodable("24.4 µs at 31 °C", "cp932"), encodable("24.4 µs", "utf-8")
    ('24.4 us at 31 C', '24.4 µs')
    >>> encodable("test_\u00e9", "ascii")
    'test_\\xe9'

    Args:
        text: One or more lines.
        encoding: Of the output; None: unknown, taken for UTF-8.
    """
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        for char, plain in PLAIN.items():
            text = text.replace(char, plain)
        return text.encode(encoding, errors="backslashreplace").decode(encoding)
    return text

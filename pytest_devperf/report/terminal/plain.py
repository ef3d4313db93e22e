"""Convert text for an output whose encoding lacks some of the characters used."""

from __future__ import annotations

PLAIN = {"µ": "u", "°": "", "…": "~", "Δ": "d"}
"""Replacements of non-ASCII characters. The ellipsis becomes one character, so that columns keep their width."""


def encodable(text: str, encoding: str | None) -> str:
    r"""Replace characters that an encoding lacks: known ones by plain letters, others by escapes.

    >>> encodable("24.4 µs at 31 °C", "cp932"), encodable("24.4 µs", "utf-8")
    ('24.4 us at 31 C', '24.4 µs')
    >>> encodable("test_\u00e9", "ascii")
    'test_\\xe9'

    Args:
        text: One or more lines.
        encoding: Encoding of the output; None: unknown, treated as UTF-8.
    """
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        for char, plain in PLAIN.items():
            text = text.replace(char, plain)
        return text.encode(encoding, errors="backslashreplace").decode(encoding)
    return text

"""Convert facts that a test reports about its work to plain data, which every record can contain."""

from __future__ import annotations

from typing import Any

from pytest_devperf.case.array import defines
from pytest_devperf.case.digest import Digest, type_name
from pytest_devperf.case.fingerprint import FINGERPRINT_DIGITS

LARGEST_INT = 2**63 - 1
"""Larger integers are not exact in most readers of JSON."""

MOST_VALUES = 1000
"""Values of one fact that stay readable: a record is not meant for data sets, and a list that contains itself has no
end."""

DEEPEST_FACT = 20
"""Levels of containers that stay readable."""


class _TooMuch(Exception):
    """A fact contains too much to be spelled out."""


def plain_fact(value: object, digest: Digest) -> Any:  # noqa: ANN401 - plain data
    """Convert a fact to plain data: the same value has the same spelling in every process.

    Args:
        value: Numbers, texts and containers of them stay readable; anything else becomes its type and the
            start of its digest.
        digest: Knows the paths that are replaced by placeholders.

    >>> plain_fact((1, 2.5, "x", None), Digest()), plain_fact({"a": (1,)}, Digest()), plain_fact(float("nan"), Digest())
    ([1, 2.5, 'x', None], {'a': [1]}, 'nan')
    """
    try:
        return _Speller(digest).spell(value, DEEPEST_FACT)
    except _TooMuch:
        return _opaque(value, digest)


class _Speller:
    """Spells one fact, as long as it is short."""

    def __init__(self, digest: Digest) -> None:
        self._digest = digest
        self._left = MOST_VALUES

    def spell(self, value: Any, levels: int) -> Any:  # noqa: ANN401 - any object, plain data
        self._left -= 1
        if self._left < 0 or levels < 0:
            raise _TooMuch
        value = _unboxed(value)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return readable(value)
        if kind in {int, float}:
            return value if -LARGEST_INT <= value <= LARGEST_INT else _spelled(value)
        if kind in {list, tuple}:
            return [self.spell(each, levels - 1) for each in value]
        if issubclass(kind, dict) and all(type(key) is str for key in dict.keys(value)):
            return {readable(key): self.spell(each, levels - 1) for key, each in dict.items(value)}
        return _opaque(value, self._digest)


def _unboxed(value: Any) -> object:  # noqa: ANN401 - any object
    """Return the number in an array library's scalar."""
    kind = type(value)
    if not (defines(kind, "shape") and defines(kind, "item")):
        return value
    try:
        return value.item() if value.shape == () else value
    except Exception:  # noqa: BLE001 - a value's own code may raise anything
        return value


def _opaque(value: object, digest: Digest) -> str:
    return f"{readable(type_name(value))} {digest.of(value).hex()[:FINGERPRINT_DIGITS]}"


def _spelled(value: float) -> str:
    """Format a number that JSON cannot represent."""
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python prints
        return hex(int(value))


def readable(text: str) -> str:
    """Escape characters that UTF-8 cannot encode."""
    return text.encode(errors="backslashreplace").decode()

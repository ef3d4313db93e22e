"""Facts that a test states of its work, spelled so that every record can hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_devperf.case.digest import Digest, Prefixes
from pytest_devperf.case.fingerprint import FINGERPRINT_DIGITS

LARGEST_INT = 2**63 - 1
"""Larger integers are no numbers to most readers of JSON."""


def plain_fact(value: Any, prefixes: Prefixes | None = None) -> Any:  # noqa: ANN401 - whatever a test states
    """Spell a fact as plain data: the same value gives the same spelling in every process.

    Args:
        value: Numbers, texts and containers of them stay readable; anything else becomes its type and the
            start of its digest.
        prefixes: Paths that become placeholders in digests.

    >>> plain_fact((1, 2.5, "x", None)), plain_fact({"a": (1,)}), plain_fact(float("nan"))
    ([1, 2.5, 'x', None], {'a': [1]}, 'nan')
    """
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()  # a number of numpy's
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return _readable(value)
    if type(value) in {int, float}:
        return value if math.isfinite(value) and abs(value) <= LARGEST_INT else str(value)
    if type(value) in {list, tuple}:
        return [plain_fact(each, prefixes) for each in value]
    if isinstance(value, Mapping) and all(type(key) is str for key in value):
        return {_readable(key): plain_fact(each, prefixes) for key, each in value.items()}
    return f"{type(value).__qualname__} {Digest(prefixes).of(value).hex()[:FINGERPRINT_DIGITS]}"


def _readable(text: str) -> str:
    """Escape what UTF-8 cannot hold."""
    return text.encode(errors="backslashreplace").decode()

"""How the texts of options, ini keys and marker keywords become values."""

from __future__ import annotations

import math
from collections.abc import Callable


def parse_count(text: str) -> int:
    """Read a whole number of at least one."""
    return _whole(text, 1)


FEWEST_REPETITIONS = 2
"""Runs of unchanged code of which one can be compared with another."""


def parse_repetitions(text: str) -> int:
    """Read a number of runs that can be compared with one another."""
    return _whole(text, FEWEST_REPETITIONS)


def parse_not_negative(text: str) -> int:
    """Read a whole number of at least zero."""
    return _whole(text, 0)


def parse_seconds(text: str) -> float:
    """Read a time in seconds, zero or more and finite."""
    value = _number(text)
    if not 0 <= value < math.inf:
        raise ValueError("must be a number of seconds, 0 or more")
    return value


def parse_fraction(text: str) -> float:
    """Read a positive number below one."""
    value = _number(text)
    if not 0 < value < 1:
        raise ValueError("must be a number between 0 and 1")
    return value


def parse_positive(text: str) -> float:
    """Read a positive finite number."""
    value = _number(text)
    if not 0 < value < math.inf:
        raise ValueError("must be a number above 0")
    return value


def parse_choice(*choices: str) -> Callable[[str], str]:
    """Make a reader that takes one of a few words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be {' or '.join(choices)}")
        return text

    return parse


def parse_cooldown(text: str) -> str:
    """Read `auto`, `off`, seconds or `temp=C`, and keep the text."""
    if text in {"auto", "off"}:
        return text
    number = text.removeprefix("temp=")
    try:
        parse_seconds(number)
    except ValueError:
        raise ValueError("must be auto, off, a number of seconds, or temp=C") from None
    return text


def parse_bool(text: str) -> bool:
    """Read an ini file's yes or no."""
    word = text.strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"0", "false", "no", "off"}:
        return False
    raise ValueError("must be true or false")


def parse_names(text: str) -> tuple[str, ...]:
    """Read names separated by commas."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("must hold at least one name")
    return names


def parse_tolerance(text: str) -> tuple[str, float]:
    """Read `X%` or `METRIC=X%` into a metric name (`*` for times made of rounds) and a fraction."""
    from pytest_devperf.compare.policy import parse_tolerance as parse  # a comparison's own word

    return parse(text)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise ValueError(f"must be a whole number of at least {least}")
    return value


def _number(text: str) -> float:
    """Read a number; not a number if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan

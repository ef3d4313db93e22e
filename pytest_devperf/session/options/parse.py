"""Parse the texts of options, ini keys and marker keywords."""

from __future__ import annotations

import math
from collections.abc import Callable

from pytest_devperf.metric import LONGEST_S
from pytest_devperf.untrusted import parse_whole

MOST_COUNT = 10_000_000
"""Most rounds, iterations or process starts: their samples fill 80 MB, and even calls of 100 ns take days."""

MOST_SEED = 10**18 - 1
"""Largest seed: a user can still copy 18 digits."""

LARGEST = 1e9
"""Largest number of degrees or percent: a larger one would silently disable a check."""


def parse_count(text: str) -> int:
    """Parse a whole number of at least one."""
    return _whole(text, 1)


FEWEST_REPETITIONS = 2
"""Fewest runs of unchanged code that can be compared with each other."""


def parse_repetitions(text: str) -> int:
    """Parse a number of runs that can be compared with each other."""
    return _whole(text, FEWEST_REPETITIONS)


def parse_not_negative(text: str) -> int:
    """Parse a whole number of at least zero."""
    return _whole(text, 0)


def parse_seed(text: str) -> int:
    """Parse a whole number of at least zero and at most 18 digits."""
    return _whole(text, 0, MOST_SEED)


def parse_seconds(text: str) -> float:
    """Parse a time in seconds, from zero to a year."""
    value = _number(text)
    if not 0 <= value <= LONGEST_S:
        raise ValueError("must be a number of seconds, from 0 to a year")
    return value


def parse_budget(text: str) -> float:
    """Parse a time in seconds, above zero and up to a year."""
    value = _number(text)
    if not 0 < value <= LONGEST_S:
        raise ValueError("must be a number above 0 (seconds, up to a year)")
    return value


def parse_fraction(text: str) -> float:
    """Parse a positive number below one."""
    value = _number(text)
    if not 0 < value < 1:
        raise ValueError("must be a number between 0 and 1")
    return value


def parse_positive(text: str) -> float:
    """Parse a positive number of a plausible size."""
    value = _number(text)
    if not 0 < value <= LARGEST:
        raise ValueError(f"must be a number above 0, up to {LARGEST:g}")
    return value


def parse_choice(*choices: str) -> Callable[[str], str]:
    """Return a parser that accepts one of a few words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be {' or '.join(choices)}")
        return text

    return parse


def parse_cooldown(text: str) -> str:
    """Parse `auto`, `off`, seconds or `temp=C`, and keep the text."""
    if text in {"auto", "off"}:
        return text
    number = text.removeprefix("temp=")
    try:
        parse_seconds(number)
    except ValueError:
        raise ValueError("must be auto, off, a number of seconds, or temp=C") from None
    return text


def parse_bool(text: str) -> bool:
    """Parse a boolean of an ini file."""
    word = text.strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"0", "false", "no", "off"}:
        return False
    raise ValueError("must be true or false")


def parse_counting(text: str) -> str:
    """Read whether to count instructions: `only`, or a yes or no."""
    word = text.strip().lower()
    if word in {"also", "only"}:
        return word
    try:
        return "also" if parse_bool(word) else "no"
    except ValueError:
        raise ValueError("must be only, or nothing (a path of tests behind it needs -- in between)") from None


def parse_names(text: str) -> tuple[str, ...]:
    """Parse names separated by commas."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("must contain at least one name")
    return names


def parse_tolerance(text: str) -> tuple[str, float]:
    """Parse `X%` or `METRIC=X%` into a metric name (`*` for times measured in rounds) and a fraction."""
    from pytest_devperf.compare.policy import parse_tolerance as parse  # the comparison defines the format

    return parse(text)


def parse_percent(text: str) -> float:
    """Parse `X%` into a fraction."""
    try:
        name, fraction = parse_tolerance(text)
    except ValueError as problem:
        raise ValueError(str(problem).replace("X% or METRIC=X%", "X%")) from None
    if name != "*":
        raise ValueError("write X%, with the % sign")
    return fraction


def _whole(text: str, least: int, most: int = MOST_COUNT) -> int:
    word = text.strip()
    value = parse_whole(word)
    if (value is not None and value > most) or (value is None and word.isdigit()):
        raise ValueError(f"must be a whole number of at most {most}")
    if value is None or value < least:
        raise ValueError(f"must be a whole number of at least {least}")
    return value


def _number(text: str) -> float:
    """Parse a number; NaN for any other text."""
    try:
        return float(text)
    except ValueError:
        return math.nan

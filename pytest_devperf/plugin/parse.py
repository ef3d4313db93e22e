"""How the texts of options, ini keys and marker keywords become values."""

from __future__ import annotations

from collections.abc import Callable


def parse_count(text: str) -> int:
    """Read a whole number of at least one."""
    value = int(text)
    if value < 1:
        raise ValueError("must be at least 1")
    return value


FEWEST_REPETITIONS = 2
"""Runs of unchanged code that can be held against one another."""


def parse_repetitions(text: str) -> int:
    """Read a number of runs of which one can be held against another."""
    value = int(text)
    if value < FEWEST_REPETITIONS:
        raise ValueError(f"must be at least {FEWEST_REPETITIONS}, so that one can be held against another")
    return value


def parse_not_negative(text: str) -> int:
    """Read a whole number of at least zero."""
    value = int(text)
    if value < 0:
        raise ValueError("must not be negative")
    return value


def parse_seconds(text: str) -> float:
    """Read a time in seconds, zero or more and finite."""
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError("must be a number of seconds, zero or more")
    return value


def parse_fraction(text: str) -> float:
    """Read a positive number below one."""
    value = float(text)
    if not 0 < value < 1:
        raise ValueError("must lie between 0 and 1")
    return value


def parse_positive(text: str) -> float:
    """Read a positive finite number."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError("must be a positive number")
    return value


def parse_choice(*choices: str) -> Callable[[str], str]:
    """Make a reader that takes one of a few words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError("choose one of " + ", ".join(choices))
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
        raise ValueError("give auto, off, a number of seconds, or temp=C") from None
    return text


def parse_bool(text: str) -> bool:
    """Read an ini file's yes or no."""
    word = text.strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"0", "false", "no", "off"}:
        return False
    raise ValueError("write true or false")


def parse_names(text: str) -> tuple[str, ...]:
    """Read names separated by commas."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("name one at least")
    return names


def parse_tolerance(text: str) -> tuple[str, float]:
    """Read `X%` or `METRIC=X%` into a metric name (`*` for times made of rounds) and a fraction."""
    from pytest_devperf.compare.policy import parse_tolerance as parse  # a comparison's own word

    return parse(text)

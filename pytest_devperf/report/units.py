"""Numbers as people read them: four digits and the unit that fits.

Shown values are rounded; what is stored and compared is not.
"""

from __future__ import annotations

from math import floor, log10

NOT_KNOWN = "-"

_TIMES = (("s", 1000.0), ("ms", 1.0), ("µs", 1e-3), ("ns", 1e-6))
"""Units of time with their milliseconds, the largest first."""

_DIGITS = 4
"""Significant digits: differences of a tenth of a percent still show."""


def format_time(ms: float | None) -> str:
    """Spell milliseconds in the unit that fits.

    >>> [format_time(ms) for ms in (0.1411, 12.31, 2000.0, 0.00004, None)]
    ['141.1 µs', '12.31 ms', '2.000 s', '40.00 ns', '-']
    """
    return format_value(ms, "ms")


def format_value(value: float | None, unit: str) -> str:
    """Spell a value with its unit; times are scaled.

    >>> format_value(103.25, "MiB"), format_value(812.0, "1/s"), format_value(3.0, "")
    ('103.2 MiB', '812.0 1/s', '3.000')
    """
    if value is None:
        return NOT_KNOWN
    scaled, size = scale_for(value, unit)
    return f"{digits(value / size)} {scaled}".rstrip()


def format_pair(then: float | None, now: float | None, unit: str) -> tuple[str, str]:
    """Spell two values in one unit, the one that fits the first, so that they can be compared by eye.

    >>> format_pair(0.9971, 1.204, "ms")
    ('997.1 µs', '1204 µs')
    """
    known = then if then is not None else now
    if known is None:
        return NOT_KNOWN, NOT_KNOWN
    scaled, size = scale_for(known, unit)
    first, second = (NOT_KNOWN if each is None else f"{digits(each / size)} {scaled}".rstrip() for each in (then, now))
    return first, second


def format_percent(percent: float | None, *, sign: bool = False) -> str:
    """Spell a percentage with a digit that still says something.

    >>> format_percent(20.24, sign=True), format_percent(0.04), format_percent(140.2), format_percent(None)
    ('+20.2 %', '0.04 %', '140 %', '-')
    >>> format_percent(0.0004), format_percent(0.0)
    ('<0.01 %', '0.0 %')
    """
    if percent is None:
        return NOT_KNOWN
    size = abs(percent)
    if 0 < size < 0.005 and not sign:  # noqa: PLR2004 - what two decimals show as nothing
        return "<0.01 %"
    # Two decimals below a tenth of a percent, none from a hundred on.
    decimals = 0 if round(size, 1) >= 100 else 2 if 0 < size < 0.1 else 1  # noqa: PLR2004 - the limits just named
    return f"{percent:{'+' if sign else ''}.{decimals}f} %"


def scale_for(value: float, unit: str) -> tuple[str, float]:
    """Choose the unit a value is shown in, and how much of `unit` one of it is."""
    if unit != "ms" or not value:
        return unit, 1.0
    size = float(f"{abs(value):.{_DIGITS - 1}e}")  # as shown: 999.96 µs are 1.000 ms
    return next((each for each in _TIMES if size >= each[1]), _TIMES[-1])


def digits(value: float) -> str:
    """Write a number with four digits, without an exponent where people can do without.

    >>> [digits(each) for each in (0, 1.23456, 14.8, 1234567.0, 0.000012345, -3.2)]
    ['0', '1.235', '14.80', '1234567', '1.234e-05', '-3.200']
    """
    if not value:
        return "0"
    magnitude = floor(log10(abs(value)))
    if magnitude < -_DIGITS or magnitude > 9:  # noqa: PLR2004 - longer than ten digits is not read any more
        return f"{value:.{_DIGITS - 1}e}"
    return f"{value:.{max(0, _DIGITS - 1 - magnitude)}f}"

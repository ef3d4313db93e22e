"""Format numbers for people: four digits and a suitable unit.

Displayed values are rounded; stored and compared values are not.
"""

from __future__ import annotations

from math import floor, log10

from pytest_devperf.compare.words import format_count
from pytest_devperf.metric import IR

NOT_KNOWN = "-"

_TIMES = (("s", 1000.0), ("ms", 1.0), ("µs", 1e-3), ("ns", 1e-6))
"""Units of time in milliseconds, the largest first."""

_DIGITS = 4
"""Significant digits: enough to show a difference of a tenth of a percent."""


def format_time(ms: float | None) -> str:
    """Format milliseconds in a suitable unit.

    >>> [format_time(ms) for ms in (0.1411, 12.31, 2000.0, 0.00004, None)]
    ['141.1 µs', '12.31 ms', '2.000 s', '40.00 ns', '-']
    """
    return format_value(ms, "ms")


def format_value(value: float | None, unit: str) -> str:
    """Format a value with its unit; times are scaled.

    >>> format_value(103.25, "MiB"), format_value(812.0, "1/s"), format_value(3.0, ""), format_value(594014.0, "Ir")
    ('103.2 MiB', '812.0 1/s', '3.000', '594,014 Ir')
    """
    if value is None:
        return NOT_KNOWN
    if unit == IR:
        return f"{format_count(value)} {IR}"
    scaled, size = scale_for(value, unit)
    return f"{digits(value / size)} {scaled}".rstrip()


def format_pair(then: float | None, now: float | None, unit: str) -> tuple[str, str]:
    """Format two values in the unit that suits the first, so that they can be compared by eye.

    >>> format_pair(0.9971, 1.204, "ms")
    ('997.1 µs', '1204 µs')
    """
    known = then if then is not None else now
    if known is None:
        return NOT_KNOWN, NOT_KNOWN
    if unit == IR:
        return format_value(then, unit), format_value(now, unit)
    scaled, size = scale_for(known, unit)
    first, second = (NOT_KNOWN if each is None else f"{digits(each / size)} {scaled}".rstrip() for each in (then, now))
    return first, second


def format_change(percent: float | None, unit: str) -> str:
    """Format a change in percent with its sign; one of instructions with two decimals, as their tolerance is small.

    >>> format_change(20.24, "ms"), format_change(0.519, "Ir"), format_change(None, "ms")
    ('+20.2 %', '+0.52 %', '-')
    """
    if percent is None or unit != IR or abs(percent) >= 100:  # noqa: PLR2004 - as format_percent
        return format_percent(percent, sign=True)
    return f"{percent:+.2f} %"


def format_percent(percent: float | None, *, sign: bool = False) -> str:
    """Format a percentage with at least one significant digit.

    >>> format_percent(20.24, sign=True), format_percent(0.04), format_percent(140.2), format_percent(None)
    ('+20.2 %', '0.04 %', '140 %', '-')
    >>> format_percent(0.0004), format_percent(0.0)
    ('<0.01 %', '0.0 %')
    """
    if percent is None:
        return NOT_KNOWN
    size = abs(percent)
    if 0 < size < 0.005 and not sign:  # noqa: PLR2004 - two decimals would show zero
        return "<0.01 %"
    # Two decimals below 0.1 %, none from 100 %.
    decimals = 0 if round(size, 1) >= 100 else 2 if 0 < size < 0.1 else 1  # noqa: PLR2004 - the limits above
    return f"{percent:{'+' if sign else ''}.{decimals}f} %"


def scale_for(value: float, unit: str) -> tuple[str, float]:
    """Choose the unit in which a value is displayed, and its size in `unit`."""
    if unit != "ms" or not value:
        return unit, 1.0
    size = float(f"{abs(value):.{_DIGITS - 1}e}")  # as displayed: 999.96 µs are 1.000 ms
    return next((each for each in _TIMES if size >= each[1]), _TIMES[-1])


def digits(value: float) -> str:
    """Format a number with four digits, without an exponent unless it is very long.

    >>> [digits(each) for each in (0, 1.23456, 14.8, 1234567.0, 0.000012345, -3.2)]
    ['0', '1.235', '14.80', '1234567', '1.234e-05', '-3.200']
    """
    if not value:
        return "0"
    magnitude = floor(log10(abs(value)))
    if magnitude < -_DIGITS or magnitude > 9:  # noqa: PLR2004 - people do not read more than ten digits
        return f"{value:.{_DIGITS - 1}e}"
    return f"{value:.{max(0, _DIGITS - 1 - magnitude)}f}"

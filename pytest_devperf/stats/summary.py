"""Compute centre and spread of short lists.

This module does not import numpy: a round has about thirty values, and sorting and indexing a short list
is faster than converting it to an array.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

FEWEST_FOR_QUARTILES = 5
"""With fewer values, quartiles mean nothing: with four, each quartile is close to a single value."""

BEYOND_ANY_RATIO = 50.0
"""Logarithm of a ratio that no two values have."""

SAME = 1e-12
"""Relative difference below which two numbers are equal: the rounding of double arithmetic over short sums."""


@lru_cache(maxsize=1024)
def _place(size: int, q: float) -> tuple[int, float]:
    """Return the position of a quantile in a sorted list: index, and fraction of the way to the next one."""
    at = q * (size - 1)
    below = min(int(at), max(size - 2, 0))
    return below, at - below


def quantile(values: Sequence[float], q: float, *, presorted: bool = False) -> float:
    """Compute a quantile by linear interpolation between the neighbouring ranks.

    Args:
        values: At least one finite number.
        q: From 0 to 1.
        presorted: Whether `values` are already sorted.

    Raises:
        ValueError: There are no values.

    Source:
        Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996, definition 7.

    >>> quantile([4.0, 1.0, 3.0, 2.0], 0.25)
    1.75
    """
    ranked = values if presorted else sorted(values)
    if not ranked:
        raise ValueError("no values to compute a quantile of")
    if len(ranked) == 1:
        return ranked[0]
    below, fraction = _place(len(ranked), q)
    return ranked[below] + fraction * (ranked[below + 1] - ranked[below])


def median(values: Sequence[float], *, presorted: bool = False) -> float:
    """Compute the middle value, or the mean of the middle two.

    Raises:
        ValueError: There are no values.
    """
    ranked = values if presorted else sorted(values)
    size = len(ranked)
    if not size:
        raise ValueError("no values to compute a median of")
    half = size // 2
    return ranked[half] if size % 2 else (ranked[half - 1] + ranked[half]) / 2


def iqr(values: Sequence[float], *, presorted: bool = False) -> float:
    """Compute the interquartile range: third minus first quartile."""
    ranked = values if presorted else sorted(values)
    return quantile(ranked, 0.75, presorted=True) - quantile(ranked, 0.25, presorted=True)


def mean(values: Sequence[float]) -> float:
    """Compute the mean without accumulating rounding errors."""
    return math.fsum(values) / len(values)


def std(values: Sequence[float]) -> float | None:
    """Compute the standard deviation (ddof=1); None for fewer than two values."""
    if len(values) < 2:  # noqa: PLR2004 - a deviation needs two values
        return None
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def cov(values: Sequence[float]) -> float | None:
    """Compute the coefficient of variation: standard deviation (ddof=1) over mean. None if undefined."""
    spread = std(values)
    if spread is None:
        return None
    centre = mean(values)
    return spread / abs(centre) if centre else None


def as_fraction(distance: float) -> float:
    """Turn the distance of two logarithms into a fraction; infinite beyond any ratio that values have.

    >>> round(as_fraction(0.0953), 4)
    0.1
    """
    return math.expm1(distance) if distance <= BEYOND_ANY_RATIO else math.inf


def centres_and_widths(
    rows: Iterable[Sequence[float]], centre: float = 0.5, low: float = 0.25, high: float = 0.75
) -> tuple[list[float], list[float]]:
    """Compute each round's centre, and the distance of two other quantiles: the median and the interquartile range.

    Args:
        rows: (rounds, iterations) values, no row empty.
        centre: The quantile that is a round's centre.
        low: The lower of the two quantiles whose distance is a round's width.
        high: The higher one.
    """
    centres: list[float] = []
    widths: list[float] = []
    size = middle = first = third = 0
    middle_part = first_part = third_part = 0.0
    for row in rows:
        ranked = sorted(row)
        if len(ranked) != size:  # rounds mostly have one size: positions are computed once
            size = len(ranked)
            middle, middle_part = _place(size, centre)
            first, first_part = _place(size, low)
            third, third_part = _place(size, high)
        if size == 1:
            centres.append(ranked[0])
            widths.append(0.0)
            continue
        at = ranked[middle]
        # Exactly the arithmetic of `median`: the early pass and the verdict must not differ by rounding.
        after = ranked[middle + 1]
        centres.append((at + after) / 2 if middle_part == 0.5 else at + middle_part * (after - at))  # noqa: PLR2004
        below, above = ranked[first], ranked[third]
        widths.append(
            above + third_part * (ranked[third + 1] - above) - below - first_part * (ranked[first + 1] - below)
        )
    return centres, widths


def within_iqr(rows: Sequence[Sequence[float]], centres: Sequence[float], widths: Sequence[float]) -> float:
    """Compute the IQR within rounds: the median of their widths.

    Rounds of fewer than five iterations have no meaningful width; the IQR of their medians is used
    instead.
    """
    if min(map(len, rows)) < FEWEST_FOR_QUARTILES:
        return iqr(centres)
    return median(widths)


def smallest_step(values: Iterable[float]) -> float | None:
    """Find the smallest non-zero difference of any two values; None if all are equal.

    Differences within the rounding of a double count as zero.
    """
    ranked = sorted(set(values))
    steps = [high - low for low, high in pairwise(ranked) if high - low > SAME * abs(high)]
    return min(steps, default=None)

"""Centre, spread, interval, ratio: plain mathematics over lists of numbers.

Nothing here imports numpy: a round has some thirty values, and sorting a short list and indexing it
is faster than making an array of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

FEWEST_FOR_QUARTILES = 5
"""Values below which quartiles say nothing: with four, each quartile is all but a single value."""

SAME = 1e-12
"""Relative difference below which two numbers are one: the rounding of double arithmetic over short sums."""

_BETA_STEPS = 300
"""Most steps of the continued fraction; it needs O(sqrt(degrees of freedom)), so this covers thousands."""

_BISECTIONS = 100
"""Halvings of an interval: more than the 53 bits of a double."""


@lru_cache(maxsize=1024)
def _place(size: int, q: float) -> tuple[int, float]:
    """Find where a quantile lies in a sorted list: index and fraction to the next one."""
    at = q * (size - 1)
    below = min(int(at), max(size - 2, 0))
    return below, at - below


def quantile(values: Sequence[float], q: float, *, presorted: bool = False) -> float:
    """Read a quantile by linear interpolation between the neighbouring ranks.

    Args:
        values: At least one finite number.
        q: From 0 to 1.
        presorted: Whether `values` already ascend.

    Raises:
        ValueError: There are no values.

    Source:
        Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996, definition 7.

    >>> quantile([4.0, 1.0, 3.0, 2.0], 0.25)
    1.75
    """
    ranked = values if presorted else sorted(values)
    if not ranked:
        raise ValueError("a quantile of no values")
    if len(ranked) == 1:
        return ranked[0]
    below, fraction = _place(len(ranked), q)
    return ranked[below] + fraction * (ranked[below + 1] - ranked[below])


def median(values: Sequence[float], *, presorted: bool = False) -> float:
    """Read the middle value, or the mean of the middle two.

    Raises:
        ValueError: There are no values.
    """
    ranked = values if presorted else sorted(values)
    size = len(ranked)
    if not size:
        raise ValueError("a median of no values")
    half = size // 2
    return ranked[half] if size % 2 else (ranked[half - 1] + ranked[half]) / 2


def iqr(values: Sequence[float], *, presorted: bool = False) -> float:
    """Measure the width of the middle half: third minus first quartile."""
    ranked = values if presorted else sorted(values)
    return quantile(ranked, 0.75, presorted=True) - quantile(ranked, 0.25, presorted=True)


def mean(values: Sequence[float]) -> float:
    """Average without rounding drift."""
    return math.fsum(values) / len(values)


def std(values: Sequence[float]) -> float | None:
    """Estimate the standard deviation (ddof=1); None for fewer than two values."""
    if len(values) < 2:  # noqa: PLR2004 - a deviation needs two values
        return None
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def cov(values: Sequence[float]) -> float | None:
    """Divide the standard deviation (ddof=1) by the mean; None where there is no such ratio."""
    spread = std(values)
    if spread is None:
        return None
    centre = mean(values)
    return spread / abs(centre) if centre else None


def centres_and_widths(rows: Iterable[Sequence[float]]) -> tuple[list[float], list[float]]:
    """Give the median and the interquartile range of every round.

    Args:
        rows: (rounds, iterations) values, no row empty.
    """
    centres: list[float] = []
    widths: list[float] = []
    size = half = low = high = 0
    low_part = high_part = 0.0
    for row in rows:
        ranked = sorted(row)
        if len(ranked) != size:  # rounds of one run are alike, so where the quartiles lie is found once
            size = len(ranked)
            half = size >> 1
            low, low_part = _place(size, 0.25)
            high, high_part = _place(size, 0.75)
        centres.append(ranked[half] if size & 1 else (ranked[half - 1] + ranked[half]) / 2)
        if size == 1:
            widths.append(0.0)
            continue
        first, third = ranked[low], ranked[high]
        widths.append(third + high_part * (ranked[high + 1] - third) - first - low_part * (ranked[low + 1] - first))
    return centres, widths


def within_iqr(rows: Sequence[Sequence[float]], centres: Sequence[float], widths: Sequence[float]) -> float:
    """Give the IQR within rounds: the median of their widths.

    Rounds of fewer than five iterations have no width worth the name: the IQR of their medians takes
    its place.
    """
    if min(map(len, rows)) < FEWEST_FOR_QUARTILES:
        return iqr(centres)
    return median(widths)


def smallest_step(values: Iterable[float]) -> float | None:
    """Find the smallest non-zero difference of any two values; None where all are one.

    Differences within the rounding of a double are none.
    """
    ranked = sorted(set(values))
    steps = [high - low for low, high in pairwise(ranked) if high - low > SAME * abs(high)]
    return min(steps, default=None)


def hodges_lehmann(values: Sequence[float]) -> float:
    """Estimate the centre of differences: the median of the means of all pairs, each value with itself too.

    Source:
        Hodges and Lehmann, "Estimates of Location Based on Rank Tests", 1963.
    """
    return median([(values[i] + values[j]) / 2 for i in range(len(values)) for j in range(i, len(values))])


def regularised_beta(a: float, b: float, x: float) -> float:
    """Compute I_x(a, b), the regularised incomplete beta function.

    Args:
        a: Above 0.
        b: Above 0.
        x: From 0 to 1.

    Source:
        NIST Digital Library of Mathematical Functions, 8.17.22, by the modified method of Lentz.
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only below
        return 1 - regularised_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function."""
    tiny = 1e-300  # stands for zero in a denominator
    upper = 1.0
    lower = 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = lower
    for step in range(1, _BETA_STEPS):
        for term in (
            step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step)),
            -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1)),
        ):
            lower = 1 / (1 + term * lower or tiny)
            upper = 1 + term / upper or tiny
            value *= lower * upper
        if abs(lower * upper - 1) < 1e-15:  # noqa: PLR2004 - the precision of a double
            break
    return value


def student_above(t: float, freedom: float) -> float:
    """Give the chance that Student's t exceeds `t` (one-sided p-value).

    Args:
        t: The statistic; infinities are fine.
        freedom: Degrees of freedom, above 0.
    """
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    square = t * t
    if square < 1:  # near the middle the distance from one half is the exact one
        tail = 0.5 - regularised_beta(0.5, freedom / 2, square / (freedom + square)) / 2
    else:
        tail = regularised_beta(freedom / 2, 0.5, freedom / (freedom + square)) / 2
    return tail if t >= 0 else 1 - tail


@lru_cache(maxsize=512)
def student_critical(chance: float, freedom: int) -> float:
    """Find the t that is exceeded with a chance: the inverse of `student_above`.

    >>> round(student_critical(0.005, 4), 3)
    4.604
    """
    low, high = 0.0, 1.0
    while student_above(high, freedom) > chance:
        low, high = high, high * 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if student_above(middle, freedom) > chance:
            low = middle
        else:
            high = middle
    return high


def pooled_t(low: Sequence[float], high: Sequence[float]) -> tuple[float, int] | None:
    """Compute the pooled t statistic of mean(high) - mean(low), and its degrees of freedom.

    Returns:
        None where there is no degree of freedom. Without variance the statistic is infinite in the
        direction of the difference, and 0 where there is none.

    Source:
        Student (W. S. Gosset), "The Probable Error of a Mean", 1908.
    """
    freedom = len(low) + len(high) - 2
    if not low or not high or freedom < 1:
        return None
    low_mean, high_mean = mean(low), mean(high)
    difference = high_mean - low_mean
    squares = math.fsum((v - low_mean) ** 2 for v in low) + math.fsum((v - high_mean) ** 2 for v in high)
    scale = max(1.0, abs(low_mean), abs(high_mean))
    if squares <= freedom * (SAME * scale) ** 2:
        direction = 0.0 if abs(difference) <= SAME * scale else math.copysign(math.inf, difference)
        return direction, freedom
    error = math.sqrt(squares / freedom * (1 / len(low) + 1 / len(high)))
    return difference / error, freedom


def clearly_higher(low: Sequence[float], high: Sequence[float], chance: float) -> bool:
    """Tell whether a one-sided pooled t-test finds `high` above `low` at a level.

    Args:
        low: Values of one side.
        high: Values of the other.
        chance: Level of the test, 0.005 for half a percent.
    """
    found = pooled_t(low, high)
    return found is not None and found[0] > student_critical(chance, found[1])


def pooled_t_p(low: Sequence[float], high: Sequence[float]) -> float | None:
    """Give the one-sided p-value of the pooled t-test for mean(high) > mean(low); None without freedom."""
    found = pooled_t(low, high)
    return None if found is None else student_above(*found)

"""Tests on means: Student's t, pooled over two sides or trimmed over paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from pytest_devperf.stats.summary import SAME, mean, std

_BETA_STEPS = 300
"""Most steps of the continued fraction; it needs O(sqrt(degrees of freedom)), so this covers thousands."""

_BISECTIONS = 100
"""Halvings of an interval: more than the 53 bits of a double can distinguish."""

TRIMMED = 5
"""One value in this many is trimmed at each end: a fifth is enough for long tails."""


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
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only below this
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
    """Compute the probability that Student's t exceeds `t` (one-sided p-value).

    Args:
        t: The statistic; may be infinite.
        freedom: Degrees of freedom, above 0.
    """
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    square = t * t
    if square < 1:  # near the middle, the distance from one half is more precise
        tail = 0.5 - regularised_beta(0.5, freedom / 2, square / (freedom + square)) / 2
    else:
        tail = regularised_beta(freedom / 2, 0.5, freedom / (freedom + square)) / 2
    return tail if t >= 0 else 1 - tail


@lru_cache(maxsize=512)
def student_critical(chance: float, freedom: int) -> float:
    """Find the t that is exceeded with a given probability: the inverse of `student_above`.

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
        None without degrees of freedom. Without variance, the statistic is infinite in the direction of the
        difference, or 0 if the means are equal.

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


def pooled_t_p(low: Sequence[float], high: Sequence[float]) -> float | None:
    """Compute the one-sided p-value of the pooled t-test for mean(high) > mean(low); None without freedom."""
    found = pooled_t(low, high)
    return None if found is None else student_above(*found)


def trimmed_t(values: Sequence[float]) -> tuple[float, float, int]:
    """Compute the trimmed mean of paired differences, its standard error, and the degrees of freedom.

    A fifth is trimmed at each end; fewer than five values are not trimmed.

    Args:
        values: At least two.

    Source:
        Yuen, "The Two-Sample Trimmed t for Unequal Population Variances", 1974, of one sample.
    """
    ranked = sorted(values)
    size = len(ranked)
    trimmed = size // TRIMMED
    kept = ranked[trimmed : size - trimmed]
    count = len(kept)
    # Winsorised: a trimmed value counts as the nearest value that was kept.
    spread = std([kept[0]] * trimmed + kept + [kept[-1]] * trimmed) or 0.0
    return mean(kept), spread * math.sqrt((size - 1) / (count * (count - 1))), count - 1


def chance_above(value: float, error: float, freedom: int) -> float:
    """Compute the one-sided p-value of an estimate above zero, from its standard error."""
    if error <= 0:
        return 0.0 if value > 0 else 1.0
    return student_above(value / error, freedom)

"""Tests on ranks: their p-values are exact for every distribution, as long as both sides are exchangeable."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from pytest_devperf.stats.summary import median


def hodges_lehmann(values: Sequence[float]) -> float:
    """Estimate the centre of differences: the median of the means of all pairs, including each value with itself.

    Source:
        Hodges and Lehmann, "Estimates of Location Based on Rank Tests", 1963.
    """
    return median([(values[i] + values[j]) / 2 for i in range(len(values)) for j in range(i, len(values))])


@lru_cache(maxsize=64)
def _rank_sum_counts(high: int, low: int) -> tuple[int, ...]:
    """Count the arrangements in which at most 0, 1, 2, ... pairs have their high value above their low one.

    The counts are the coefficients of a Gaussian binomial, computed from its product form.
    """
    pairs = high * low
    counts = [1] + [0] * pairs
    for place in range(1, high + 1):
        step = low + place
        for index in range(pairs, step - 1, -1):
            counts[index] -= counts[index - step]
        for index in range(place, pairs + 1):
            counts[index] += counts[index - place]
    return tuple(accumulate(counts))


def rank_sum_p(low: Sequence[float], high: Sequence[float]) -> float:
    """Compute the exact one-sided p-value of the rank-sum test for `high` above `low`.

    A tie counts half, rounded so that it never lowers the p-value.

    Args:
        low: Values of one side.
        high: Values of the other side.

    Source:
        Mann and Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other",
        1947.
    """
    if not low or not high:
        return 1.0
    ranked = sorted(low)
    twice_above = sum(bisect_left(ranked, value) + bisect_right(ranked, value) for value in high)
    counts = _rank_sum_counts(len(high), len(low))
    return counts[len(low) * len(high) - twice_above // 2] / counts[-1]


def all_above_p(low: Sequence[float], high: Sequence[float]) -> float:
    """Compute the exact p-value of the number of values of `low` that are below every value of `high`.

    Interference only ever adds to a value: it spreads both sides upwards and leaves their lower ends unchanged.
    This test still detects a difference there when the other tests no longer do.

    Args:
        low: Values of one side.
        high: Values of the other side.

    Source:
        Rosenbaum, "Tables for a Nonparametric Test of Location", 1954.
    """
    if not low or not high:
        return 1.0
    least = min(high)
    below = sum(value < least for value in low)
    return math.comb(len(low), below) / math.comb(len(low) + len(high), below)


@lru_cache(maxsize=64)
def _signed_rank_counts(size: int) -> tuple[int, ...]:
    """Count the sets of ranks whose sum is at most 0, 1, 2, ..."""
    counts = [1] + [0] * (size * (size + 1) // 2)
    for rank in range(1, size + 1):
        for total in range(len(counts) - 1, rank - 1, -1):
            counts[total] += counts[total - rank]
    return tuple(accumulate(counts))


def signed_rank_p(differences: Sequence[float]) -> float:
    """Compute the exact one-sided p-value of the signed-rank test for differences above zero.

    Zeros are left out; equal sizes share their ranks, rounded so that they never lower the p-value.

    Source:
        Wilcoxon, "Individual Comparisons by Ranking Methods", 1945.
    """
    ranked = sorted((each for each in differences if each), key=abs)
    sizes = [abs(each) for each in ranked]
    counts = _signed_rank_counts(len(ranked))
    twice_above = sum(bisect_left(sizes, abs(each)) + 1 + bisect_right(sizes, abs(each)) for each in ranked if each > 0)
    return counts[len(counts) - 1 - twice_above // 2] / counts[-1]

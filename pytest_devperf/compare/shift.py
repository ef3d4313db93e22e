"""Find changes of level in a history of values.

Source:
    Killick, Fearnhead and Eckley, "Optimal Detection of Changepoints with a Linear Computational Cost", 2012
    (PELT), as implemented by the package ruptures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_devperf import stats
from pytest_devperf.errors import UsageError

FEWEST_VALUES = 4
"""Fewest values with two on either side of a change."""

SHORTEST = 2
"""Fewest values of a level: a single one is an outlier, including the newest."""

PENALTY = 2.0
"""Cost of a further level, in logarithms of the number of values.

Tested on synthetic histories: from 2 on, unchanged histories have no changes; 3 misses every third +5 % that is three
runs old.
"""

LEAST_SHIFT = 0.02
"""Smallest reported change of level: the default tolerance of times."""

LEAST_NOISE = 1e-4
"""Noise assumed for values that hardly differ: a hundredth of a percent, smaller than any relevant change."""

NORMAL_MAD = 1.4826
"""Ratio of the standard deviation of a normal distribution to its median absolute deviation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """A change of level."""

    at: int
    """Index of the first value of the new level."""
    before: float
    """Median of the level before."""
    after: float
    """Median of the new level."""

    @property
    def percent(self) -> float:
        """The change in percent of the level before."""
        return 100 * (self.after / self.before - 1)


def shifts(values: Sequence[float], *, widths: Sequence[float] = (), least: float = LEAST_SHIFT) -> tuple[Shift, ...]:
    """Find the changes of level in a history of positive values, oldest first.

    Args:
        values: The values in order.
        widths: IQR of the run of each value, in the same unit: smaller changes are ignored.
        least: Smallest reported change, as a fraction.

    Raises:
        UsageError: The package ruptures is not installed.
    """
    if len(values) < FEWEST_VALUES or min(values) <= 0:
        return ()
    if max(values) - min(values) <= least * min(values):  # no two levels can differ by more
        return ()
    logs = [math.log(value) for value in values]
    noise = max(_noise(logs), LEAST_NOISE)
    edges = [0, *_edges([value / noise for value in logs])]
    return _large_enough(values, edges, widths or [0.0] * len(values), least)


def _edges(scaled: Sequence[float]) -> list[int]:
    """Find the ends of all levels with PELT and absolute deviations, so that an outlier is not a level."""
    try:
        import numpy as np
        import ruptures
    except ImportError as error:
        raise UsageError(
            f"finding changes in a history needs the package {error.name}", "pip install 'pytest-devperf[history]'"
        ) from None
    search = ruptures.Pelt(model="l1", min_size=SHORTEST, jump=1).fit(np.array(scaled).reshape(-1, 1))
    return [int(edge) for edge in search.predict(pen=PENALTY * math.log(len(scaled)))]


def _noise(logs: Sequence[float]) -> float:
    """Estimate the noise from the differences of neighbours, which a few changes of level hardly affect."""
    steps = [after - before for before, after in pairwise(logs)]
    middle = stats.median(steps)
    return NORMAL_MAD * stats.median([abs(step - middle) for step in steps]) / math.sqrt(2)


def _large_enough(
    values: Sequence[float], edges: Sequence[int], widths: Sequence[float], least: float
) -> tuple[Shift, ...]:
    """Drop changes that are too small, and join the levels on either side."""
    kept = [0]
    for start, end in pairwise(edges):
        if not start:
            continue
        level, before = stats.median(values[start:end]), stats.median(values[kept[-1] : start])
        width = max(stats.median(widths[start:end]), stats.median(widths[kept[-1] : start]))
        if abs(level - before) > max(least * before, width):
            kept.append(start)
    bounds = [*kept, len(values)]
    return tuple(
        Shift(at=middle, before=stats.median(values[start:middle]), after=stats.median(values[middle:end]))
        for start, middle, end in zip(bounds, bounds[1:], bounds[2:], strict=False)
    )

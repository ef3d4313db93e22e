"""Where a history of values changed its level.

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
"""Values of which two can stand on either side of a change."""

SHORTEST = 2
"""Values of a level: one alone is an outlier, the newest included."""

PENALTY = 2.0
"""What a further level costs, in logarithms of the number of values.

Tried on synthetic histories: from 2 on, unchanged histories show none; 3 misses a +5 % that is three runs old
every third time.
"""

LEAST_SHIFT = 0.02
"""Smallest change of level that is told: the default tolerance of times."""

LEAST_NOISE = 1e-4
"""Noise that is assumed of values that hardly differ: a hundredth of a percent, which no level of interest is below."""

NORMAL_MAD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""


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
    """Find where a history of positive values changed its level, oldest first.

    Args:
        values: In the order in which they were taken.
        widths: IQR of the run behind each value, in the same unit: a change within the runs' own IQR is none.
        least: Smallest change that is told, as a fraction.

    Raises:
        UsageError: The package that finds them is not installed.
    """
    if len(values) < FEWEST_VALUES or min(values) <= 0:
        return ()
    logs = [math.log(value) for value in values]
    noise = max(_noise(logs), LEAST_NOISE)
    edges = [0, *_edges([value / noise for value in logs])]
    return _told(values, edges, widths or [0.0] * len(values), least)


def _edges(scaled: Sequence[float]) -> list[int]:
    """Ask PELT for the ends of all levels; absolute deviations, so that an outlier is no level."""
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
    """Estimate the noise from neighbours' differences, which few changes of level disturb."""
    steps = [after - before for before, after in pairwise(logs)]
    middle = stats.median(steps)
    return NORMAL_MAD * stats.median([abs(step - middle) for step in steps]) / math.sqrt(2)


def _told(values: Sequence[float], edges: Sequence[int], widths: Sequence[float], least: float) -> tuple[Shift, ...]:
    """Leave out changes that are too small, joining the levels on either side."""
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

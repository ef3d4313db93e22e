"""Estimate the smallest change that a comparison could have detected."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_devperf import stats
from pytest_devperf.compare.looks import FIRST_STARTS, MOST_STARTS
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule import starts
from pytest_devperf.compare.rule.sides import Sides
from pytest_devperf.compare.rule.starts import Ways
from pytest_devperf.compare.rule.threshold import TICKS


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest change that a comparison could have detected, as a fraction of the baseline.

    It exceeds the threshold and the differences between process starts. A true change of this size is detected about
    every second time; one that is half as large again, nearly always.
    """

    least: float
    noise: float
    """The same without the tolerance: the change that noise alone would have hidden."""
    now_hides: bool
    """Whether the new side hides more than the baseline alone would, so that measuring it longer would help."""

    @classmethod
    def of(cls, sides: Sides, ways: Ways, policy: Policy) -> Detectable:
        """Estimate the smallest detectable change.

        Args:
            sides: Both sides.
            ways: The floors of their process starts.
            policy: The number of metrics judged together.
        """
        size = abs(sides.base.robust)
        alone = sides.bound(None, policy).value
        # A change within the baseline's own bound is not hidden, however wide the new side is.
        hidden = sides.beyond(sides.first, alone, sides.sign) and policy.rule == "proven"
        bound = sides.bound(sides.first, policy).value if hidden else alone
        width = max(sides.base.iqr, TICKS * sides.base.tick)
        wide = max(width, sides.first.iqr, TICKS * sides.first.tick) if hidden else width
        apart = 0.0 if sides.one_start else _apart(sides, ways, policy)
        return cls(max(bound / size, apart), max(wide / size, apart), hidden and wide > width)

    @property
    def percent(self) -> float | None:
        """In percent of the baseline; None if no change would have been detected."""
        return 100 * self.least if math.isfinite(self.least) else None


def _apart(sides: Sides, ways: Ways, policy: Policy) -> float:
    """Return the difference between process starts that the tests need to prove a change, as a fraction."""
    count = FIRST_STARTS + MOST_STARTS if sides.of_rounds and policy.confirm else 2 * len(sides.first.floors)
    found = starts.detectable(ways, starts=count, level=starts.level_of(policy.metrics))
    if ways.ratios:
        return stats.as_fraction(found)
    return found / abs(sides.base.robust)

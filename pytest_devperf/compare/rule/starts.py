"""Test whether a change exceeds the differences between process starts.

Two starts of the same code differ by layout, core and clock, more than two rounds of one start. So the floors of all
starts of both sides are tested against each other, with and without the part explained by the anchor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_devperf import stats
from pytest_devperf.compare.rule import machine
from pytest_devperf.compare.rule.estimate import Values

ALONE = 0.01
"""Chance of a false alarm of a single metric by these tests, if it is judged alone."""

TOGETHER = 0.014
"""Chance of any false alarm of all metrics judged together: 1.4 % over, for example, a hundred of them."""

T_SHARE, RANK_SHARE = 0.5, 0.25
"""Shares of that chance for the t-test, and for each of the two rank tests."""

LOWER = 0.25
"""Quantile of a side's floors that represents its size: neither one undisturbed start of twelve nor starts disturbed by
a neighbour affect it."""

SIZE_SHARE = 0.5
"""Part of the threshold by which it must have changed, since ranks alone prove differences of any size."""

PROMISING_T = 0.5
"""t statistic above which more starts may still prove a change."""


@dataclass(frozen=True, slots=True)
class Floors:
    """The floors of both sides: their logarithms, or the values themselves if they have none."""

    base: Sequence[float]
    now: Sequence[float]


@dataclass(frozen=True, slots=True)
class Ways:
    """The floors of both sides, with and without the part explained by the anchor."""

    plain: Floors
    calm: Floors | None
    """None without an anchor."""
    felt: machine.Exponent
    """The sensitivity of the workload to the machine."""
    ratios: bool
    """Whether floors are logarithms."""

    def all(self) -> Iterable[Floors]:
        """Return the available variants."""
        return (self.plain,) if self.calm is None else (self.plain, self.calm)


@dataclass(frozen=True, slots=True)
class Proof:
    """The significance of a change."""

    p: float
    """Probability of such a clear result if nothing had changed: the lowest p-value of a test over its share."""
    level: float
    """The change is significant below it."""

    @property
    def holds(self) -> bool:
        """Whether the change exceeds the differences between process starts."""
        return self.p < self.level


def level_of(metrics: int) -> float:
    """Return the chance of a false alarm for one of this many metrics."""
    return min(ALONE, TOGETHER / max(metrics, 1))


def ways_of(base: Values, now: Values, *, anchored: bool) -> Ways:
    """Prepare the floors of both sides for the tests.

    Args:
        base: The baseline.
        now: All looks at the new side.
        anchored: Whether every round of both has an anchor.
    """
    if min((*base.floors, *now.floors)) <= 0:
        return Ways(Floors(base.floors, now.floors), None, machine.Exponent(), ratios=False)
    plain = Floors(list(map(math.log, base.floors)), list(map(math.log, now.floors)))
    if not anchored:
        return Ways(plain, None, machine.Exponent(), ratios=True)
    felt = machine.exponent((base.floors, base.anchors), (now.floors, now.anchors))
    calm = Floors(
        machine.without(base.floors, base.anchors, felt.value), machine.without(now.floors, now.anchors, felt.value)
    )
    return Ways(plain, calm, felt, ratios=True)


def prove(ways: Ways, sign: int, *, level: float, least: float, centre: float) -> Proof:
    """Test whether the new side's floors are beyond the baseline's.

    Args:
        ways: The floors.
        sign: 1 if the new side is tested for being above, -1 for below.
        level: Chance of a false alarm.
        least: Smallest distance of the sides, in the unit of the floors.
        centre: Quantile of a side that represents its size.
    """
    chances = [
        chance
        for floors in ways.all()
        if sign * (stats.quantile(floors.now, centre) - stats.quantile(floors.base, centre)) > least
        for chance in _chances(floors, sign)
    ]
    return Proof(min(1.0, *chances) if chances else 1.0, level)


def promising(ways: Ways, sign: int) -> bool:
    """Return whether more starts may still prove that the new side is worse."""
    found = [stats.pooled_t(floors.base, floors.now) for floors in ways.all()]
    return any(each is not None and sign * each[0] > PROMISING_T for each in found)


def detectable(ways: Ways, *, starts: int, level: float) -> float:
    """Estimate the smallest difference that the tests would detect if a suspect had this many starts.

    Args:
        ways: The floors so far; their spread matters, not the distance of the sides.
        starts: Final number of process starts of a suspect.
        level: Chance of a false alarm.

    Returns:
        In the unit of the floors; infinite if no difference would be detected.
    """
    by_t = [_by_t(floors, starts, T_SHARE * level) for floors in ways.all()]
    by_lower_end = [_by_lower_end(floors.base, starts, RANK_SHARE * level) for floors in ways.all()]
    return min(*by_t, *by_lower_end)


def squares(values: Sequence[float]) -> float:
    """Sum the squared distances from the mean."""
    centre = stats.mean(values)
    return math.fsum((value - centre) ** 2 for value in values)


def _chances(floors: Floors, sign: int) -> tuple[float, ...]:
    """Return the p-value of each test, divided by its share of the chance of a false alarm."""
    low, high = (floors.base, floors.now) if sign > 0 else (floors.now, floors.base)
    by_t = stats.pooled_t_p(low, high)
    return (
        (1.0 if by_t is None else by_t) / T_SHARE,
        stats.rank_sum_p(low, high) / RANK_SHARE,
        stats.all_above_p(low, high) / RANK_SHARE,
    )


def _by_t(floors: Floors, starts: int, level: float) -> float:
    """Return the t-test's critical difference for the observed spread."""
    seen = len(floors.base) + len(floors.now) - 2
    if seen < 1:
        return math.inf
    count = max(starts, len(floors.now))
    error = math.sqrt((squares(floors.base) + squares(floors.now)) / seen * (1 / len(floors.base) + 1 / count))
    return stats.student_critical(level, len(floors.base) + count - 2) * error


def _by_lower_end(base: Sequence[float], starts: int, level: float) -> float:
    """Return the rise with which a side exceeds as many floors of the baseline as the rank test requires."""
    ranked = sorted(base)
    size = len(ranked)
    for cleared in range(1, size + 1):
        if math.comb(size, cleared) / math.comb(size + starts, cleared) < level:
            return ranked[cleared - 1] - ranked[0]
    return math.inf

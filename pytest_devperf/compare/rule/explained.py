"""Decide whether the machine explains a change: by its anchor, or because only the new side waited for a CPU."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_devperf import stats
from pytest_devperf.compare.rule.machine import PRIOR_ERROR, without
from pytest_devperf.compare.rule.sides import Sides
from pytest_devperf.compare.rule.starts import Ways, squares

LEFT_SHARE = 0.5
"""Part of the tolerance that a change must exceed after the machine's part is removed."""

EXPONENT_ERRORS = 2.0
"""Standard deviations by which a workload may be more sensitive to the machine than estimated."""

SLOW_SEEN = 0.01
"""Slowdown of the machine, by its lowest anchor, from which the first look may explain a suspect: the anchors of two
sessions on the same machine differ by less."""

NO_VETO_BEYOND = 10.0
"""Multiple of the threshold beyond which the anchor may veto only if the machine was slow: a bad anchor must not hide a
large regression.

Ten times is 20 % at the usual tolerance: lower clocks and heat usually cost less.
"""

SLOW_SHARE = 0.5
"""Part of such a change by which the lowest anchor must have become slower as well. A clock cap during a session slows
code down by more than 20 %: without this rule 10 % of the unchanged cases failed on virtual devices, with it 0.07 %."""

NOISY_ANCHOR = 0.01
"""Difference between a side's third lowest and lowest anchor above which the anchor itself is noisy."""

UNSTEADY_CHANCE = 0.025
"""Significance level that the change must then reach on ratios to the anchor as well, if the floors follow it: the
machine was unsteady."""

NOISY_ANCHOR_CHANCE = 0.003
"""The same if they do not follow it: if anchors differ by 3 % between process starts, 0.8 % of unchanged cases fail
with it, and 3.9 % with 2.5 %."""

THIRD = 2
"""Index of the third lowest."""


def only_now_waited(sides: Sides) -> bool:
    """Return whether the new side waited for a CPU in nearly every iteration, but the baseline did not.

    Its floors then include the costs of being interrupted, mainly cold caches, even though the waits themselves are
    subtracted.
    """
    return sides.now.disturbed and not sides.base.disturbed


def by_first_look(sides: Sides, ways: Ways, bound: float) -> bool:
    """Return whether the first look, possibly incomplete, shows a slower machine that explains the change.

    Args:
        sides: Both sides, without a confirmation.
        ways: The floors of their process starts.
        bound: The threshold.
    """
    slower = _slowdown(sides, sides.sign)
    if slower <= SLOW_SEEN or _beyond_doubt(sides, slower, bound, sides.sign):
        return False
    left = _left(ways, sides.sign)
    # Before the look is complete, little is known about the exponent, and the machine may change again.
    allowed = EXPONENT_ERRORS * ways.felt.error * slower if sides.whole else 0.0
    return left <= max(LEFT_SHARE * sides.tolerance, allowed)


def by_anchor(sides: Sides, ways: Ways, bound: float, sign: int) -> bool:
    """Return whether too little of a change remains after the machine's part is removed.

    Args:
        sides: Both sides, all looks.
        ways: The floors of their process starts.
        bound: The threshold.
        sign: 1 to test for slower code, -1 for faster.
    """
    if ways.calm is None:
        return False
    slower = _slowdown(sides, sign)
    if _beyond_doubt(sides, slower, bound, sign):
        return False
    removed = max(slower, _removed(sides, sign))
    allowed = LEFT_SHARE * sides.tolerance + EXPONENT_ERRORS * ways.felt.error * removed
    return _left(ways, sign) <= allowed or not _holds_on_ratios(sides, sign)


def by_rounds(sides: Sides) -> bool:
    """Return whether the machine, as the anchors of the case's rounds show it, explains a change of a load."""
    if sides.around <= SLOW_SEEN:
        return False
    left = sides.now.robust / sides.base.robust / (1 + sides.around) - 1
    return left <= LEFT_SHARE * sides.tolerance + EXPONENT_ERRORS * PRIOR_ERROR * sides.around


def _beyond_doubt(sides: Sides, slower: float, bound: float, sign: int) -> bool:
    """Return whether a change is too large for the slowdown of the machine, in every look.

    The lowest anchor is that of all looks, and so is the lowest centre that it is compared with.
    """
    change = sign * (sides.now.robust / sides.base.robust - 1)
    return sides.beyond(sides.now, NO_VETO_BEYOND * bound, sign) and slower < SLOW_SHARE * change


def _removed(sides: Sides, sign: int) -> float:
    """Return the machine's part of a change, by the anchors of the rounds that it is estimated from, as a fraction."""
    now, base = stats.median(sides.now.anchors), stats.median(sides.base.anchors)
    return max(0.0, sign * (now / base - 1))


def _left(ways: Ways, sign: int) -> float:
    """Return the part of a change that the machine does not explain, as a fraction."""
    assert ways.calm is not None
    return math.expm1(sign * (stats.median(ways.calm.now) - stats.median(ways.calm.base)))


def _slowdown(sides: Sides, sign: int) -> float:
    """Return the slowdown of the machine compared to the baseline, by its lowest anchor, as a fraction."""
    return max(0.0, sign * (sides.machine_change or 0.0))


def _holds_on_ratios(sides: Sides, sign: int) -> bool:
    """Return whether a change is significant on ratios to the anchor as well, as required if the anchor is noisy."""
    if max(_noise(sides.base.levels), _noise(sides.now.levels)) <= NOISY_ANCHOR:
        return True
    base, now = (without(each.floors, each.anchors, 1.0) for each in (sides.base, sides.now))
    plain = [[math.log(floor) for floor in each.floors] for each in (sides.base, sides.now)]
    followed = sum(map(squares, (base, now))) < sum(map(squares, plain))
    chance = stats.pooled_t_p(*((base, now) if sign > 0 else (now, base)))
    return chance is not None and chance < (UNSTEADY_CHANCE if followed else NOISY_ANCHOR_CHANCE)


def _noise(levels: Sequence[float]) -> float:
    ranked = sorted(levels)
    return ranked[min(THIRD, len(ranked) - 1)] / ranked[0] - 1

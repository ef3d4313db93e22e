"""Whether the machine explains a change: by its anchor, or because only the new side had to wait for a CPU."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_devperf import stats
from pytest_devperf.compare.machine import without
from pytest_devperf.compare.sides import Sides
from pytest_devperf.compare.starts import Ways

LEFT_SHARE = 0.5
"""Part of the tolerance that must be left of a change once the machine's part is taken off."""

EXPONENT_ERRORS = 2.0
"""Standard deviations by which a workload may feel the machine more than it is known to."""

SLOW_SEEN = 0.01
"""Slowness of the machine, by its anchor at its best, from which the first look may end a suspect: the anchors of two
sessions on the same machine differ by less."""

NO_VETO_BEYOND = 10.0
"""Multiple of the threshold beyond which the anchor needs a slow machine to veto: a bad anchor must not hide a large
regression.

Ten times is 20 % at the usual tolerance: most clocks that fall and machines that are hot are slower by less.
"""

SLOW_SHARE = 0.5
"""Part of such a change by which the anchor at its best must have become slower, too. A clock cap in mid-session slows
code by more than 20 %: without this, it failed 10 % of the unchanged cases on virtual devices, with it 0.07 %."""

NOISY_ANCHOR = 0.01
"""Distance of a side's third lowest anchor from its lowest above which the anchor itself is noisy."""

NOISY_ANCHOR_CHANCE = 0.025
"""Level at which the change must then hold on ratios to the anchor, too."""

THIRD = 2
"""Place of the third lowest."""


def only_now_waited(sides: Sides) -> bool:
    """Tell whether the new side waited for a CPU in nearly every iteration, and the baseline did not.

    Its floors then hold what a program pays for being interrupted, cold caches above all, even where the waits
    themselves are taken off.
    """
    return sides.now.disturbed and not sides.base.disturbed


def by_first_look(sides: Sides, ways: Ways, bound: float) -> bool:
    """Tell whether the first look, or what there is of it, has seen a slower machine that explains the change.

    Args:
        sides: Both sides, without a confirmation.
        ways: Their floors.
        bound: The threshold.
    """
    slower = _slowdown(sides, sides.sign)
    if slower <= SLOW_SEEN or _beyond_doubt(sides, slower, bound, sides.sign):
        return False
    left = _left(ways, sides.sign)
    # Before the look is over little is known of the exponent, and more of the machine may yet be seen.
    allowed = EXPONENT_ERRORS * ways.felt.error * slower if sides.whole else 0.0
    return left <= max(LEFT_SHARE * sides.tolerance, allowed)


def by_anchor(sides: Sides, ways: Ways, bound: float, sign: int) -> bool:
    """Tell whether too little of a change is left once the machine's part is taken off.

    Args:
        sides: Both sides, all looks.
        ways: Their floors.
        bound: The threshold.
        sign: 1 where the code is looked at for being slower, -1 for faster.
    """
    if ways.calm is None:
        return False
    slower = _slowdown(sides, sign)
    if _beyond_doubt(sides, slower, bound, sign):
        return False
    allowed = LEFT_SHARE * sides.tolerance + EXPONENT_ERRORS * ways.felt.error * slower
    return _left(ways, sign) <= allowed or not _holds_on_ratios(sides, sign)


def _beyond_doubt(sides: Sides, slower: float, bound: float, sign: int) -> bool:
    """Tell whether a change is too large for a machine that is slower by so much."""
    change = sign * (sides.first.robust / sides.base.robust - 1)
    return sides.beyond(sides.first, NO_VETO_BEYOND * bound, sign) and slower < SLOW_SHARE * change


def _left(ways: Ways, sign: int) -> float:
    """Give what is left of a change without the machine's part, as a fraction."""
    assert ways.calm is not None
    return math.expm1(sign * (stats.median(ways.calm.now) - stats.median(ways.calm.base)))


def _slowdown(sides: Sides, sign: int) -> float:
    """Give the fraction by which the machine at its best was slower than in the baseline, by the anchor."""
    if not sides.now.levels or sides.base.level is None:
        return 0.0
    return max(0.0, sign * (min(sides.now.levels) / sides.base.level - 1))


def _holds_on_ratios(sides: Sides, sign: int) -> bool:
    """Tell whether a change holds on ratios to the anchor too, which it must if the anchor is noisy."""
    if max(_noise(sides.base.levels), _noise(sides.now.levels)) <= NOISY_ANCHOR:
        return True
    base, now = (without(each.floors, each.anchors, 1.0) for each in (sides.base, sides.now))
    chance = stats.pooled_t_p(*((base, now) if sign > 0 else (now, base)))
    return chance is not None and chance < NOISY_ANCHOR_CHANCE


def _noise(levels: Sequence[float]) -> float:
    ranked = sorted(levels)
    return ranked[min(THIRD, len(ranked) - 1)] / ranked[0] - 1

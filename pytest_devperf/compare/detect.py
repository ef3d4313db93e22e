"""How small a change a comparison could have found."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_devperf import stats
from pytest_devperf.compare.estimate import Estimate, Side

_FREEDOM_LEAST = 1


def detectable(
    base: Side, candidate: Estimate, threshold: float, *, starts: int, chance: float, gap_factor: float
) -> float | None:
    """Estimate the smallest change that would have been called one, in percent of the baseline.

    It must exceed the threshold, and also what process starts differ: the t-test's critical difference at
    the spread that was seen, or a multiple of the largest gap, whichever is easier. A true change of this size is
    found about every second time; one half as large again nearly always.

    Args:
        base: The baseline.
        candidate: The run.
        threshold: In the values' unit.
        starts: Process starts that a suspect would have had, confirmation included.
        chance: Level of the t-test.
        gap_factor: Multiple of the gap.

    Returns:
        None where the baseline's centre is 0.
    """
    if not base.robust:
        return None
    least = threshold / abs(base.robust)
    if base.starts == 1 and len(candidate.floors) == 1:
        return 100 * least
    ways = [gap_factor * max(base.gap, candidate.gap) / abs(base.robust)]
    for floors, others in ((base.floors, candidate.floors), (base.floors_n, candidate.floors_n)):
        way = _critical_difference(floors, others, max(starts, len(others)), chance)
        if way is not None:
            ways.append(way)
    return 100 * max(least, min(ways))


def _critical_difference(base: Sequence[float], other: Sequence[float], starts: int, chance: float) -> float | None:
    """Give the relative difference at which the t-test over floors would just find one."""
    freedom = len(base) + starts - 2
    if not base or not other or freedom < _FREEDOM_LEAST or min(base) <= 0 or min(other) <= 0:
        return None
    seen = len(base) + len(other) - 2
    if seen < _FREEDOM_LEAST:
        return None
    squares = _log_squares(base) + _log_squares(other)
    error = math.sqrt(squares / seen * (1 / len(base) + 1 / starts))
    return math.expm1(min(stats.student_critical(chance, freedom) * error, 50.0))


def _log_squares(values: Sequence[float]) -> float:
    """Sum the squared distances of logarithms from their mean."""
    logs = list(map(math.log, values))
    centre = sum(logs) / len(logs)
    return sum([(value - centre) ** 2 for value in logs])

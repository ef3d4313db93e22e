"""Estimate from the anchor kernel how fast the machine was, and how sensitive a workload is to it.

If the anchor shows that a machine is slower, a workload slows down by a power of that: from the square root (a workload
that waits for memory) to the power of 1.5 (caches shared with a neighbour). If the machine changed during the runs,
the power can be estimated from the relation between floors of process starts and their anchors. Otherwise it is assumed
to be one, with a large uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

PRIOR_ERROR = 0.25
"""Standard deviation of the exponent before any observation: two of them span 0.5 to 1.5."""

LEAST, MOST = 0.5, 1.6
"""Plausible exponents of a workload; estimates outside are due to noise of the anchor."""

FEWEST = 4
"""Fewest degrees of freedom for a meaningful slope."""

LEAST_VARIANCE = 1e-8
"""Smallest squared error of a floor's logarithm: a hundredth of a percent, the precision of clocks."""

ANCHOR_ERROR = 0.004
"""Standard deviation of an anchor's reading on a steady machine, as a fraction, its differences between process starts
included. A slope over anchors that differ by little more is too flat."""

Points = tuple[Sequence[float], Sequence[float]]
"""Floors of process starts, and the anchors of their rounds."""


@dataclass(frozen=True, slots=True)
class Exponent:
    """The power of the machine's slowdown by which a workload slows down."""

    value: float = 1.0
    error: float = PRIOR_ERROR
    """Its standard deviation."""


def exponent(*sides: Points) -> Exponent:
    """Estimate how sensitive a workload is to the machine.

    The slope of floors over anchors, both as logarithms and relative to each side's means, is combined with the prior
    distribution.

    Args:
        sides: Floors and anchors of each version of the code; the code is the same within a side.
    """
    across = along = whole = 0.0
    freedom = 0
    for floors, anchors in sides:
        if len(floors) >= 3:  # noqa: PLR2004 - two points always lie on a line
            xs, ys = _around_mean(floors), _around_mean(anchors)
            across += math.fsum(x * y for x, y in zip(xs, ys, strict=True))
            along += math.fsum(y * y for y in ys)
            whole += math.fsum(x * x for x in xs)
            freedom += len(floors) - 1
    if freedom < FEWEST or along <= 0:
        return Exponent()
    slope = across / along
    scatter = math.sqrt(max((whole - slope * across) / (freedom - 1), LEAST_VARIANCE) / along)
    error = math.hypot(scatter, freedom * ANCHOR_ERROR**2 / along)
    if error > 1 or slope < 2 * error or not LEAST - 2 * error <= slope <= MOST + 2 * error:
        return Exponent()
    weight, before = error**-2, PRIOR_ERROR**-2
    return Exponent((slope * weight + before) / (weight + before), (weight + before) ** -0.5)


def without(floors: Sequence[float], anchors: Sequence[float], power: float) -> list[float]:
    """Remove the machine's part: return logarithms of floors, scaled to an anchor of one nanosecond.

    Args:
        floors: Floors of process starts.
        anchors: Anchors of their rounds.
        power: The sensitivity of the workload to the machine.
    """
    return [math.log(floor) - power * math.log(anchor) for floor, anchor in zip(floors, anchors, strict=True)]


def _around_mean(values: Sequence[float]) -> list[float]:
    logs = list(map(math.log, values))
    centre = math.fsum(logs) / len(logs)
    return [each - centre for each in logs]

"""What the anchor kernel says of the machine, and how strongly a workload feels it.

A machine that is slower by its anchor makes a workload slower by a power of that: from the square root (memory that
waits for memory) to the power of one and a half (caches that a neighbour takes). Which power it is can be read off the
runs themselves, if the machine changed while they were measured: from how floors of process starts follow their
anchors. Where it did not change the power is taken for one, and not known well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

PRIOR_ERROR = 0.25
"""Standard deviation of the exponent before anything is seen: two of them span 0.5 to 1.5."""

LEAST, MOST = 0.5, 1.6
"""Exponents that a workload can have; what the runs show beyond them is noise of the anchor."""

FEWEST = 4
"""Degrees of freedom of a slope that says anything."""

LEAST_VARIANCE = 1e-8
"""Least squared error of a floor's logarithm: a hundredth of a percent, below which clocks do not agree either."""

Points = tuple[Sequence[float], Sequence[float]]
"""Floors of process starts, and the anchors of their rounds."""


@dataclass(frozen=True, slots=True)
class Exponent:
    """The power of the machine's slowness by which a workload becomes slower."""

    value: float = 1.0
    error: float = PRIOR_ERROR
    """Its standard deviation."""


def exponent(*sides: Points) -> Exponent:
    """Read off how strongly a workload feels the machine.

    The slope of floors over anchors, both as logarithms and around each side's own means, is weighed with what is
    known beforehand.

    Args:
        sides: Floors and anchors of each version of the code; within a side the code is the same.
    """
    across = along = whole = 0.0
    freedom = 0
    for floors, anchors in sides:
        if len(floors) >= 3:  # noqa: PLR2004 - around their mean two points always lie on a line
            xs, ys = _around_mean(floors), _around_mean(anchors)
            across += math.fsum(x * y for x, y in zip(xs, ys, strict=True))
            along += math.fsum(y * y for y in ys)
            whole += math.fsum(x * x for x in xs)
            freedom += len(floors) - 1
    if freedom < FEWEST or along <= 0:
        return Exponent()
    slope = across / along
    error = math.sqrt(max((whole - slope * across) / (freedom - 1), LEAST_VARIANCE) / along)
    if error > 1 or slope < 2 * error or not LEAST - 2 * error <= slope <= MOST + 2 * error:
        return Exponent()
    weight, before = error**-2, PRIOR_ERROR**-2
    return Exponent((slope * weight + before) / (weight + before), (weight + before) ** -0.5)


def without(floors: Sequence[float], anchors: Sequence[float], power: float) -> list[float]:
    """Take off what the machine explains: logarithms of floors on a machine whose anchor takes one nanosecond.

    Args:
        floors: Of process starts.
        anchors: Of the rounds they come from.
        power: How strongly the workload feels the machine.
    """
    return [math.log(floor) - power * math.log(anchor) for floor, anchor in zip(floors, anchors, strict=True)]


def _around_mean(values: Sequence[float]) -> list[float]:
    logs = list(map(math.log, values))
    centre = math.fsum(logs) / len(logs)
    return [each - centre for each in logs]

"""Compute the threshold beyond which a value is a suspect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_devperf.compare.policy import DEFAULT_TOLERANCE, MEMORY_FLOOR_MIB, Policy
from pytest_devperf.compare.rule.estimate import Values
from pytest_devperf.record.record import Measurement

TICKS = 2.0
"""Steps of the clock within which two readings are equal."""

CONFIRM_SHARE = 0.5
"""Part of the threshold that a confirmation must find again: the first look was selected for being high, the second was
not.
"""


@dataclass(frozen=True, slots=True)
class Bound:
    """The threshold of a metric, and the largest of its parts."""

    value: float
    decided_by: Literal["iqr", "tolerance", "tick"]


def tolerance_of(measurement: Measurement, policy: Policy) -> float:
    """Return the tolerance of a metric: by its name, its family, its kind (`memory`), `*`, or the default.

    `*`, a percentage without a name, applies to times of rounds: it would lower the tolerance of loads, which vary much
    more, and raise that of recorded values, which are compared exactly.
    """
    family = measurement.name.partition(".")[0]
    names = [measurement.name, family, measurement.kind]
    if measurement.kind == "rounds":
        names.append("*")
    for name in names:
        if name in policy.tolerance:
            return policy.tolerance[name]
    return DEFAULT_TOLERANCE[measurement.kind]


def floor_of(measurement: Measurement) -> float:
    """Return the absolute floor of a metric's threshold, in its unit; only memory has one."""
    return MEMORY_FLOOR_MIB if measurement.kind == "memory" else 0.0


def widest(iqr: float, tolerated: float, tick: float) -> Bound:
    """Return the largest bound, with its name."""
    value = max(iqr, tolerated, TICKS * tick)
    if value == iqr and iqr > 0:
        return Bound(value, "iqr")
    return Bound(value, "tolerance" if value == tolerated else "tick")


def threshold(base: Values, other: Values | None, *, tolerance: float, floor: float, policy: Policy) -> Bound:
    """Compute the threshold between a baseline and one run.

    Args:
        base: The baseline.
        other: The run; None: only the baseline (the early-pass bound).
        tolerance: As a fraction.
        floor: Absolute floor, in the values' unit.
        policy: Its rule; with `iqr` only the IQRs count.
    """
    iqr = max(base.iqr, other.iqr) if other is not None else base.iqr
    if policy.rule == "iqr":
        return Bound(iqr, "iqr")
    tick = max(base.tick, other.tick) if other is not None else base.tick
    return widest(iqr, max(tolerance * abs(base.robust), floor), tick)


def beyond(value: float, base: float, bound: float, sign: int) -> bool:
    """Return whether a value is beyond a bound, upwards for sign 1, downwards for -1.

    Written as `value > base + bound`, exactly like the early-pass bound, so that rounding makes no difference between
    them.
    """
    return value > base + bound if sign > 0 else value < base - bound

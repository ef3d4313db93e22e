"""How far a value may stray from its baseline before it is a suspect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_devperf.compare.estimate import Estimate, Side, estimate, history
from pytest_devperf.compare.policy import DEFAULT_TOLERANCE, MEMORY_FLOOR_MIB, Policy
from pytest_devperf.record.record import Measurement

TICKS = 2.0
"""Steps of the clock within which two readings are the same."""

CONFIRM_SHARE = 0.5
"""Part of the threshold a confirmation must find again: the first look was chosen for being high, the second is
not.
"""


@dataclass(frozen=True, slots=True)
class Bound:
    """How far a value may be off before it is a suspect."""

    value: float
    decided_by: Literal["iqr", "tolerance", "tick"]


def tolerance_of(measurement: Measurement, policy: Policy) -> float:
    """Choose the tolerance of a metric: by its name, its family, its kind (`memory`), `*`, or the default.

    `*`, a percentage without a name, speaks of times made of rounds: it would tighten what varies far more, a
    load, and loosen what is compared exactly, a recorded value.
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
    """Give the absolute floor of a metric's threshold, in its unit: memory alone has one."""
    return MEMORY_FLOOR_MIB if measurement.kind == "memory" else 0.0


def widest(iqr: float, tolerated: float, tick: float) -> Bound:
    """Choose the largest bound, and say which it is."""
    value = max(iqr, tolerated, TICKS * tick)
    if value == iqr and iqr > 0:
        return Bound(value, "iqr")
    return Bound(value, "tolerance" if value == tolerated else "tick")


def threshold(base: Side, other: Estimate | None, *, tolerance: float, floor: float, policy: Policy) -> Bound:
    """Compute the threshold between a baseline and one run.

    Args:
        base: The baseline.
        other: The run; None: what the baseline alone makes of it (the early-pass bound).
        tolerance: As a fraction.
        floor: Absolute floor, in the values' unit.
        policy: Its rule; under `iqr` only the IQRs count.
    """
    iqr = max(base.iqr, other.iqr) if other is not None else base.iqr
    if policy.rule == "iqr":
        return Bound(iqr, "iqr")
    tick = max(base.tick, other.tick) if other is not None else base.tick
    return widest(iqr, max(tolerance * abs(base.robust), floor), tick)


def baseline_side(
    befores: Sequence[Measurement],
    planned: int | None,
    policy: Policy,
    *,
    starts: int | None = None,
    anchor: bool = True,
) -> Side:
    """Combine a metric's saved runs, each cut to its first rounds where fewer are planned now.

    Args:
        befores: The metric in every run that serves, not empty.
        planned: Rounds planned of the candidate; None: no cut.
        policy: Which IQR is the run's own; under the literal rule a run stands for itself.
        starts: Process starts planned of the candidate; None: no fewer than the baseline has.
        anchor: Whether the anchor may be used.

    Raises:
        NotSamples: A run holds samples that are none.
    """
    return history(
        [estimate(before, rounds=_cut(before, planned), iqr=policy.iqr, anchor=anchor) for before in befores],
        higher=befores[0].better == "higher",
        starts=starts if policy.rule == "proven" else None,
    )


def beyond(value: float, base: float, bound: float, sign: int) -> bool:
    """Tell whether a value lies beyond a bound, upwards for sign 1, downwards for -1.

    Written as `value > base + bound`, the very form of the early-pass bound, so that rounding cannot tell
    them apart.
    """
    return value > base + bound if sign > 0 else value < base - bound


def _cut(before: Measurement, planned: int | None) -> int | None:
    """Give the rounds that count of a baseline: its first ones, where fewer are planned now."""
    own = before.planned_rounds or len(before.process)
    return planned if before.kind == "rounds" and planned and planned < own else None

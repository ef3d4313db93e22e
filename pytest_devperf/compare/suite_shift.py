"""Find a change that most cases of a run share: another interpreter or library, or a machine that changed.

It is reported and decides nothing: code that all cases use may have become slower just as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_devperf import stats
from pytest_devperf.compare.tally import JUDGED
from pytest_devperf.metric import IR
from pytest_devperf.record.record import Change, Record

FEWEST_CASES = 5
"""Fewest cases of which most can be spoken: three of five."""

MOST = 0.6
"""Share of the cases that must have changed in the same direction, and by about the same."""

LEAST = 0.01
"""Smallest shared change, as a fraction: half of the usual tolerance. The lowest centre of a case that passed early is
up to 0.4 % too high."""

LEAST_OF_CASE = 0.005
"""Smallest change of a case that shares in it."""

SPREAD, SPREAD_SHARE = 0.01, 0.5
"""Distance from the shared change within which a case changed by about the same: a percent, or half of that change,
because workloads differ in how strongly they feel a machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteShift:
    """A change that most cases share."""

    percent: float
    """The median change."""
    sharing: int
    """Number of cases that changed by about as much."""
    cases: int
    anchor_pct: float | None
    """Median change of the anchor kernel; None: not known."""
    apart: tuple[tuple[str, float], ...]
    """Cases that stand out: id and change in percent, the largest distance first."""


def find_suite_shift(records: Sequence[Record]) -> SuiteShift | None:
    """Find the change that most cases of a run share; None if there is none.

    Args:
        records: The cases of a run, with their comparisons.
    """
    judged = [(record.id, change) for record in records for change in _main_change(record)]
    if len(judged) < FEWEST_CASES:
        return None
    changes = [math.log1p(_fraction(change)) for _, change in judged]
    shared = stats.median(changes)
    sign = math.copysign(1.0, shared)
    same_way = sum(sign * each > LEAST_OF_CASE for each in changes)
    near = max(SPREAD, SPREAD_SHARE * abs(shared))
    alike = sum(abs(each - shared) <= near for each in changes)
    if abs(shared) <= LEAST or min(same_way, alike) < MOST * len(judged):
        return None
    apart = [
        (abs(each - shared), case_id, change)
        for (case_id, change), each in zip(judged, changes, strict=True)
        if abs(each - shared) > max(near, _threshold(change))
    ]
    anchors = [change.anchor_pct for _, change in judged if change.anchor_pct is not None]
    return SuiteShift(
        percent=100 * math.expm1(shared),
        sharing=alike,
        cases=len(judged),
        anchor_pct=stats.median(anchors) if anchors else None,
        apart=tuple(
            (case_id, 100 * _fraction(change)) for _, case_id, change in sorted(apart, key=lambda each: -each[0])
        ),
    )


def _main_change(record: Record) -> Iterator[Change]:
    """Yield the change of a case's first metric of rounds, if it was judged."""
    rounds = {metric.name for metric in record.metrics if metric.kind == "rounds"}
    for change in record.comparison.changes if record.comparison is not None else ():
        if change.metric in rounds and change.unit != IR and change.verdict in JUDGED and change.delta_pct is not None:
            yield change
            return


def _fraction(change: Change) -> float:
    assert change.delta_pct is not None
    return change.delta_pct / 100


def _threshold(change: Change) -> float:
    """Return the threshold of a change as a fraction of the baseline."""
    return change.threshold / change.baseline if change.threshold and change.baseline else 0.0

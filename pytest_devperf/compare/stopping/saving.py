"""Decide whether a run that is being saved needs more process starts, and which changes it could not detect."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_devperf import stats
from pytest_devperf.compare.looks import FIRST_STARTS, MOST_SAVED, MOST_STARTS, SAVED_AT_A_TIME, Further
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.estimate import Estimate, NotSamples, estimate
from pytest_devperf.compare.rule.machine import Exponent, exponent, without
from pytest_devperf.compare.rule.starts import Floors, Ways, detectable, level_of
from pytest_devperf.compare.rule.threshold import TICKS, tolerance_of
from pytest_devperf.metric import INFORMATIONAL
from pytest_devperf.record.record import Measurement, Record

ERROR_SHARE = 0.25
"""Share of the tolerance that the error of a saved run's mean of starts may reach."""


@dataclass(frozen=True, slots=True)
class _Saved:
    """The precision of a saved metric of rounds."""

    name: str
    starts: int
    error: float
    """Standard error of the mean of its starts, as a fraction."""
    least: float
    """The smallest change that a comparison with a similar run could detect, as a fraction."""
    tolerance: float


def more_to_save(record: Record, policy: Policy) -> Further | None:
    """Return how many more process starts a reliable baseline needs; None if it needs none.

    More are needed if the starts differ so much that the error of their mean exceeds a quarter of the tolerance, or if
    a comparison with it could not detect a change of `policy.blind`.

    Args:
        record: The measurements so far.
        policy: Its tolerances, and the change that a comparison must be able to detect.
    """
    left = [
        MOST_SAVED - saved.starts
        for saved in _saved(record, policy)
        if saved.error > ERROR_SHARE * saved.tolerance or _blind(saved, policy)
    ]
    most = max(left, default=0)
    return Further(starts=min(most, SAVED_AT_A_TIME), rounds=1) if most > 0 else None


def blind_when_saved(record: Record, policy: Policy) -> dict[str, float]:
    """Return the metrics for which no comparison could detect a change of `policy.blind`.

    Returns:
        Metric name -> the smallest detectable change, as a fraction; infinite if there is none.
    """
    return {saved.name: saved.least for saved in _saved(record, policy) if _blind(saved, policy)}


def _blind(saved: _Saved, policy: Policy) -> bool:
    return saved.least > max(policy.blind, saved.tolerance)


def _saved(record: Record, policy: Policy) -> Iterator[_Saved]:
    """Yield every metric of rounds that more starts could improve: a single start shows nothing about others."""
    for metric in record.metrics:
        if metric.kind == "rounds" and metric.name not in INFORMATIONAL:
            try:
                found = _look_at(metric, policy)
            except NotSamples:
                continue
            if found.starts > 1:
                yield found


def _look_at(metric: Measurement, policy: Policy) -> _Saved:
    one = estimate(metric, iqr=policy.iqr, anchor=policy.anchor)
    ways = _against_itself(one)
    count = len(one.floors)
    width = max(one.iqr, TICKS * one.tick) / one.robust
    apart = detectable(ways, starts=FIRST_STARTS + MOST_STARTS, level=level_of(policy.metrics))
    return _Saved(
        name=metric.name,
        starts=count,
        error=min(stats.std(floors.base) or 0.0 for floors in ways.all()) / math.sqrt(count),
        least=max(width, stats.as_fraction(apart)),
        tolerance=tolerance_of(metric, policy),
    )


def _against_itself(one: Estimate) -> Ways:
    """Return the floors of a run as if a similar run were compared with it."""
    plain = list(map(math.log, one.floors))
    if not one.anchors:
        return Ways(Floors(plain, plain), None, Exponent(), ratios=True)
    felt = exponent((one.floors, one.anchors))
    calm = without(one.floors, one.anchors, felt.value)
    return Ways(Floors(plain, plain), Floors(calm, calm), felt, ratios=True)

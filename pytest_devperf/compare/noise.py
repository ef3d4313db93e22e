"""Estimate the noise of unchanged code from repeated measurements."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as with_fields

from pytest_devperf import stats
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.estimate import NotSamples, estimate
from pytest_devperf.compare.rule.threshold import tolerance_of
from pytest_devperf.compare.rule.verdict import Judged, judge
from pytest_devperf.metric import INFORMATIONAL
from pytest_devperf.record.record import Confirmation, Measurement, Record

STEP_PCT = 0.5
"""Recommended tolerances are multiples of this: a spread of a few repetitions is not more precise."""

NEIGHBOURS = 4
"""Number of repetitions before and after each one with which it is compared. Up to five repetitions are all compared
with each other. With more, those far apart in time show less of the noise between two runs, and the work stays
linear.
"""

FEWEST = 2
"""Fewest repetitions for a comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The noise of one metric of unchanged code."""

    metric: str
    unit: str
    repetitions: int
    centre: float
    """Median of the repetitions' values, in `unit`."""
    starts_pct: float | None
    """Difference between process starts within a repetition: standard deviation of their best rounds, in percent.

    None if no repetition has two of them.
    """
    runs_pct: float
    """Difference between repetitions: standard deviation of their values, in percent."""
    spread_pct: float
    """Range of the repetitions, in percent of the centre."""
    comparisons: int
    """Number of compared pairs of neighbouring repetitions, each once as the saved and once as the new run."""
    suspects: int
    """Number of these beyond the threshold."""
    false_alarms: int
    """Number of these that would have failed a test, with a third repetition as the confirmation."""
    detectable_pct: float | None
    """The smallest change that such comparisons detect, the median over all of them."""
    tolerance_pct: float
    """The smallest tolerance, in steps of half a percent, with which no repetition is a suspect."""


def noise(records: Sequence[Record], policy: Policy) -> tuple[Noise, ...]:
    """Summarise the repetitions of one case for each metric.

    Args:
        records: Records of unchanged code, in order; those that did not pass are left out.
        policy: The policy to evaluate.

    Returns:
        One per metric that at least two repetitions contain.
    """
    passed = [record for record in records if record.outcome == "passed"]
    names = dict.fromkeys(each.name for record in passed for each in record.metrics if each.name not in INFORMATIONAL)
    found = []
    for name in names:
        held = [(record, each) for record in passed for each in record.metrics if each.name == name]
        usable = [(record, each) for record, each in held if each.robust]
        if len(usable) >= FEWEST:
            found.append(_of_metric(usable, policy))
    return tuple(found)


def recommended(found: Mapping[str, Sequence[Noise]]) -> dict[str, float]:
    """Return one tolerance per metric that suits every case: the largest one required.

    Args:
        found: The noise of each case, by its id.

    Returns:
        Percent by metric name, in the order of first occurrence.
    """
    chosen: dict[str, float] = {}
    for each in (one for several in found.values() for one in several):
        chosen[each.metric] = max(each.tolerance_pct, chosen.get(each.metric, 0.0))
    return chosen


def _of_metric(held: Sequence[tuple[Record, Measurement]], policy: Policy) -> Noise:
    centres = [each.robust for _, each in held if each.robust is not None]
    centre = stats.median(centres)
    judged = [_judged(held, before, now, policy) for before, now in _pairs(len(held))]
    detectable = [one.change.detectable_pct for one in judged if one.change.detectable_pct is not None]
    lowest, highest = min(centres), max(centres)
    worst_pct = max(100 * max(abs(lowest - before), abs(highest - before)) / abs(before) for before in centres)
    least_pct = 100 * tolerance_of(held[0][1], policy)
    beyond = any(one.change.verdict in {"suspect", "regressed", "improved"} for one in judged)
    return Noise(
        metric=held[0][1].name,
        unit=held[0][1].unit,
        repetitions=len(held),
        centre=centre,
        starts_pct=_starts_pct([each for _, each in held]),
        runs_pct=100 * (stats.std(centres) or 0.0) / abs(centre),
        spread_pct=100 * (max(centres) - min(centres)) / abs(centre),
        comparisons=len(judged),
        suspects=sum(one.change.verdict in {"suspect", "regressed"} for one in judged),
        false_alarms=sum(one.change.verdict == "regressed" for one in judged),
        detectable_pct=stats.median(detectable) if detectable else None,
        tolerance_pct=max(least_pct, math.ceil(worst_pct / STEP_PCT) * STEP_PCT) if beyond else least_pct,
    )


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    """Pair each repetition with its neighbours: the saved run, then the new one."""
    for now in range(count):
        near = range(max(0, now - NEIGHBOURS), min(count, now + NEIGHBOURS + 1))
        yield from ((before, now) for before in near if before != now)


def _next_in_time(count: int, before: int, now: int) -> int | None:
    """Return the repetition that confirms: the one next to `now`, preferably later; None if there are only two."""
    near = (now + 1, now - 1, now + 2, now - 2)
    return next((place for place in near if place != before and 0 <= place < count), None)


def _starts_pct(measurements: Sequence[Measurement]) -> float | None:
    """Pool the variance of process starts within each run, relative to the run's own mean."""
    squares, freedom = 0.0, 0
    for each in measurements:
        try:
            floors = estimate(each).floors
        except NotSamples:
            continue
        ratio = stats.cov(floors) if len(floors) >= FEWEST else None
        if ratio is not None:
            squares += ratio * ratio * (len(floors) - 1)
            freedom += len(floors) - 1
    return 100 * math.sqrt(squares / freedom) if freedom else None


def _judged(held: Sequence[tuple[Record, Measurement]], before: int, now: int, policy: Policy) -> Judged:
    """Compare a repetition with another one; the nearest third one, if any, is the confirmation."""
    (before_record, saved), (record, measured) = held[before], held[now]
    identity = record.run_context.anchor
    same_anchor = identity is not None and before_record.run_context.anchor == identity
    following = _next_in_time(len(held), before, now)
    if following is not None:
        again = held[following][1]
        confirmation = Confirmation(
            process=again.process,
            samples_ns=again.samples_ns,
            samples=again.samples,
            anchor_ns=again.anchor_ns,
            ran_ns=again.ran_ns,
        )
        return judge(
            with_fields(measured, confirmation=confirmation),
            [saved],
            policy,
            same_anchor=same_anchor,
            starts=record.processes,
        )
    alone = replace(policy, confirm=False)
    judged = judge(measured, [saved], alone, same_anchor=same_anchor, starts=record.processes)
    if judged.change.verdict != "regressed" or not policy.confirm:
        return judged
    # Without a second measurement it is a suspect, not an alarm.
    return replace(judged, change=with_fields(judged.change, verdict="suspect", stopped_by="unconfirmed"))

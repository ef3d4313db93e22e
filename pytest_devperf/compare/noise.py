"""What unchanged code comes to when it is measured again and again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as with_fields

from pytest_devperf import stats
from pytest_devperf.compare.estimate import NotSamples, estimate
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.threshold import tolerance_of
from pytest_devperf.compare.verdict import Judged, judge
from pytest_devperf.metric import TOLD_ONLY
from pytest_devperf.record.record import Confirmation, Measurement, Record

STEP_PCT = 0.5
"""Recommended tolerances are whole steps: more digits than a spread of a few repetitions has would pretend."""

NEIGHBOURS = 4
"""Repetitions before and after each one that it is compared with. Up to five repetitions are all compared with one
another; of more, those far apart in time say less of the noise between two runs, and the work stays in proportion.
"""

FEWEST = 2
"""Repetitions of which one can be compared with another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How far one metric of unchanged code strays."""

    metric: str
    unit: str
    repetitions: int
    centre: float
    """Median of the repetitions' headline values, in `unit`."""
    starts_pct: float | None
    """How far process starts stray within a repetition: standard deviation of their best rounds, in percent.

    None where no repetition has two of them.
    """
    runs_pct: float
    """How far repetitions stray from one another: standard deviation of their headline values, in percent."""
    spread_pct: float
    """The repetitions' range, in percent of the centre."""
    comparisons: int
    """Pairs of neighbouring repetitions that were compared, each once as the saved run and once as the new one."""
    suspects: int
    """Of these, how many were beyond the threshold."""
    false_alarms: int
    """Of these, how many would have failed a test; a third repetition served as the confirmation."""
    detectable_pct: float | None
    """The smallest change that such comparisons find, the median over them."""
    tolerance_pct: float
    """The least tolerance, in steps of half a percent, under which no repetition is a suspect."""


def noise(records: Sequence[Record], policy: Policy) -> tuple[Noise, ...]:
    """Sum the repetitions of one case up, metric by metric.

    Args:
        records: Unchanged code, in the order they were taken; those that did not pass are left out.
        policy: The rule that is tried on them.

    Returns:
        One per metric that at least two repetitions hold.
    """
    passed = [record for record in records if record.outcome == "passed"]
    names = dict.fromkeys(each.name for record in passed for each in record.metrics if each.name not in TOLD_ONLY)
    found = []
    for name in names:
        held = [(record, each) for record in passed for each in record.metrics if each.name == name]
        usable = [(record, each) for record, each in held if each.robust]
        if len(usable) >= FEWEST:
            found.append(_of_metric(usable, policy))
    return tuple(found)


def recommended(found: Mapping[str, Sequence[Noise]]) -> dict[str, float]:
    """Choose one tolerance per metric that suits every case: the largest that one of them needs.

    Args:
        found: What each case came to, by its id.

    Returns:
        Percent by metric name, in the order in which metrics are met.
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
    """Choose the repetition that confirms: the one next to `now`, the later one first; None if there are but two."""
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
    """Compare a repetition with another one; the next of the others confirms, if there is one."""
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
    # What was not measured again is a suspect, not an alarm.
    return replace(judged, change=with_fields(judged.change, verdict="suspect", stopped_by="unconfirmed"))

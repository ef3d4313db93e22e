"""Apply the rule: decide whether a metric became slower.

A change beyond the threshold is a suspect. It is a regression if a second look finds it again, if it exceeds the
differences between process starts, and if neither the anchor nor waiting for a CPU explains it. A suspect that fails
any of these steps is reported, but its test passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_devperf.compare.looks import (
    CONFIRMING_ROUNDS,
    CONFIRMING_STARTS,
    MORE_ROUNDS,
    MORE_STARTS,
    MOST_STARTS,
    Further,
)
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule import explained
from pytest_devperf.compare.rule.detect import Detectable
from pytest_devperf.compare.rule.estimate import NotSamples
from pytest_devperf.compare.rule.sides import Sides, lay_out
from pytest_devperf.compare.rule.starts import LOWER, SIZE_SHARE, Proof, Ways, level_of, promising, prove, ways_of
from pytest_devperf.compare.rule.threshold import CONFIRM_SHARE, Bound
from pytest_devperf.compare.words import could_not_find, too_slow
from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.record.record import Change, Measurement, Verdict

Step = Literal["confirm", "starts", "anchor", "waits", "unconfirmed"]

MIDDLE = 0.5
"""Quantile that represents the size of a metric with few values, which interference may also lower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The result of one metric."""

    change: Change
    further: Further | None = None
    """The measurement that may change its verdict; None: the verdict is final."""
    blind: bool = False
    """Whether no relevant change could have been detected."""
    one_start: bool = False
    """Whether both sides have one process start, so that the difference between starts is not known."""


@dataclass(frozen=True, slots=True)
class _Ruling:
    """The result of the rule for one metric."""

    verdict: Verdict
    stopped: Step | None = None
    """The step that a suspect did not pass."""
    confirmed: bool | None = None
    further: Further | None = None
    proof: Proof | None = None
    reason: str | None = None
    blind: bool = False


def judge(
    candidate: Measurement,
    befores: Sequence[Measurement],
    policy: Policy,
    *,
    same_anchor: bool,
    starts: int | None = None,
    around: float = 0.0,
) -> Judged:
    """Judge one metric.

    Args:
        candidate: Its measurement now, with its confirmation if there is one.
        befores: The metric in every usable run, newest first, not empty.
        policy: The policy of the comparison.
        same_anchor: Whether the anchor kernel is the same on both sides.
        starts: Process starts planned for the candidate; None: as many as it has.
        around: Slowdown of the machine by the anchors of the case's rounds, for times without anchors.
    """
    slow = next((each for each in (candidate, *befores) if each.stop == "too-slow" and not each.samples_ns), None)
    if slow is not None:
        return _unjudged(candidate, "inconclusive", too_slow(slow, now=slow is candidate))
    try:
        sides = lay_out(candidate, befores, policy, same_anchor=same_anchor, starts=starts, around=around)
    except NotSamples as found:
        return _unjudged(candidate, "incomparable", str(found))
    if sides.base.robust == 0:
        return _unjudged(candidate, "incomparable", "the baseline is 0, so there is no ratio")
    sides = _as_one_if_blind(sides, policy)
    bound = sides.bound(sides.first, policy)
    ways = ways_of(sides.base, sides.now, anchored=sides.anchored)
    seen = Detectable.of(sides, ways, policy)
    shortage = sides.shortage
    ruling = _Ruling("inconclusive", reason=shortage) if shortage else _rule(sides, ways, bound, seen, policy)
    return Judged(
        change=_change(candidate, sides, bound, seen, ruling),
        further=ruling.further,
        blind=ruling.blind,
        one_start=sides.one_start,
    )


def _as_one_if_blind(sides: Sides, policy: Policy) -> Sides:
    """Combine both looks if the first could not have detected a change: the second is then not a confirmation."""
    if sides.second is None or policy.rule == "iqr":
        return sides
    alone = replace(sides, second=None, now=sides.first)
    seen = Detectable.of(alone, ways_of(alone.base, alone.now, anchored=alone.anchored), policy)
    worse = sides.beyond(sides.first, sides.bound(sides.first, policy).value, sides.sign)
    return sides if worse or not _is_blind(alone, seen, policy) else replace(sides, first=sides.now)


def _is_blind(sides: Sides, seen: Detectable, policy: Policy) -> bool:
    """Return whether no relevant change could have been detected in a metric of rounds."""
    return sides.of_rounds and seen.noise > max(policy.blind, sides.tolerance)


def _rule(sides: Sides, ways: Ways, bound: Bound, seen: Detectable, policy: Policy) -> _Ruling:
    """Apply the rule."""
    worse = sides.beyond(sides.first, bound.value, sides.sign)
    better = sides.beyond(sides.first, bound.value, -sides.sign)
    if policy.rule == "iqr":
        return _Ruling("regressed" if worse else "improved" if better else "within_noise")
    if better:
        holds = sides.one_start or _prove(sides, ways, bound, policy, -sides.sign).holds
        if holds and not explained.by_anchor(sides, ways, bound.value, -sides.sign):
            return _Ruling("improved")
    if not worse:
        return _quiet(sides, seen, policy)
    if policy.confirm and sides.second is None:
        return _first_look(sides, ways, bound)
    return _all_looks(sides, ways, bound, policy)


def _quiet(sides: Sides, seen: Detectable, policy: Policy) -> _Ruling:
    """Return within noise, unless no relevant change could have been detected: then measure more."""
    if not _is_blind(sides, seen, policy):
        return _Ruling("within_noise")
    longer = policy.confirm and sides.second is None and seen.now_hides
    further = Further(starts=CONFIRMING_STARTS, rounds=CONFIRMING_ROUNDS) if longer else None
    return _Ruling("inconclusive", further=further, reason=could_not_find(seen.noise), blind=True)


def _first_look(sides: Sides, ways: Ways, bound: Bound) -> _Ruling:
    """Request a second look, unless the first one explains the change by the machine."""
    if explained.only_now_waited(sides):
        return _Ruling("suspect", "waits")
    if explained.by_first_look(sides, ways, bound.value):
        return _Ruling("suspect", "anchor")
    return _Ruling("suspect", "unconfirmed", further=Further(starts=CONFIRMING_STARTS, rounds=CONFIRMING_ROUNDS))


def _all_looks(sides: Sides, ways: Ways, bound: Bound, policy: Policy) -> _Ruling:
    """Apply the steps that a suspect has to pass."""
    confirmed = None if sides.second is None else True
    if sides.second is not None:
        again = CONFIRM_SHARE * sides.bound(sides.second, policy).value
        if not sides.beyond(sides.second, again, sides.sign):
            return _Ruling("suspect", "confirm", confirmed=False)
    if explained.only_now_waited(sides):
        return _Ruling("suspect", "waits", confirmed)
    proof = None if sides.one_start else _prove(sides, ways, bound, policy, sides.sign)
    if proof is not None and not proof.holds:
        return _Ruling("suspect", "starts", confirmed, further=_more(sides, ways), proof=proof)
    if explained.by_anchor(sides, ways, bound.value, sides.sign) or explained.by_rounds(sides):
        return _Ruling("suspect", "anchor", confirmed, proof=proof)
    return _Ruling("regressed", None, confirmed, proof=proof)


def _more(sides: Sides, ways: Ways) -> Further | None:
    """Request more process starts as long as they may still prove the change."""
    if sides.second is None or not sides.of_rounds:
        return None
    left = MOST_STARTS - len(sides.second.floors)
    if left <= 0 or not promising(ways, sides.sign):
        return None
    return Further(starts=min(left, MORE_STARTS), rounds=MORE_ROUNDS)


def _prove(sides: Sides, ways: Ways, bound: Bound, policy: Policy, sign: int) -> Proof:
    """Test whether a change exceeds the differences between process starts, and half of the threshold."""
    least = SIZE_SHARE * bound.value
    return prove(
        ways,
        sign,
        level=level_of(policy.metrics),
        least=math.log1p(least / abs(sides.base.robust)) if ways.ratios else least,
        centre=LOWER if sides.of_rounds else MIDDLE,
    )


def _unjudged(candidate: Measurement, verdict: Verdict, reason: str) -> Judged:
    change = Change(
        metric=candidate.name,
        verdict=verdict,
        unit=candidate.unit,
        better=candidate.better,
        candidate=candidate.robust,
        reason=reason,
    )
    return Judged(change=change)


def _change(candidate: Measurement, sides: Sides, bound: Bound, seen: Detectable, ruling: _Ruling) -> Change:
    scale = 1 / NS_PER_MS if sides.timed else 1.0
    delta = sides.first.robust - sides.base.robust
    return Change(
        metric=candidate.name,
        verdict=ruling.verdict,
        unit=candidate.unit,
        better=candidate.better,
        baseline=sides.base.robust * scale,
        candidate=sides.first.robust * scale,
        delta=delta * scale,
        delta_pct=100 * delta / abs(sides.base.robust),
        decided_by=bound.decided_by,
        threshold=bound.value * scale,
        iqr_baseline=sides.base.iqr * scale,
        iqr_candidate=sides.first.iqr * scale,
        confirmed=ruling.confirmed,
        detectable_pct=seen.percent,
        anchor_pct=None if sides.machine_change is None else 100 * sides.machine_change,
        p=None if ruling.proof is None else ruling.proof.p,
        level=None if ruling.proof is None else ruling.proof.level,
        stopped_by=ruling.stopped,
        reason=ruling.reason,
    )

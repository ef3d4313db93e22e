"""The rule: whether one metric became slower.

A change beyond the threshold is a suspect. It is a regression where a second measurement finds it again,
where it exceeds what process starts differ, and where the anchor does not say that the machine as a whole
was slower. A suspect that does not pass all three is told, and its test passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_devperf import stats
from pytest_devperf.compare.detect import detectable
from pytest_devperf.compare.estimate import (
    Estimate,
    NotSamples,
    Side,
    anchored_throughout,
    estimate,
    estimate_confirmation,
    history,
)
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.threshold import (
    CONFIRM_SHARE,
    Bound,
    baseline_side,
    beyond,
    floor_of,
    threshold,
    tolerance_of,
)
from pytest_devperf.compare.words import too_slow
from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.record.record import Change, Measurement, Verdict

Step = Literal["confirm", "starts", "anchor", "unconfirmed"]

START_TEST_CHANCE = 0.01
"""Level of the t-test over process starts: one percent, on raw or anchor-normalised floors."""

GAP_FACTOR = 3.0
"""How many times the largest gap between starts a change must exceed where the t-test has too few of them."""

VETO_SHARE = 0.5
"""Part of the tolerance by which the anchor-normalised change must exceed zero."""

VETO_SLACK = 0.1
"""Part of the anchor's own slowdown that is added to it: no workload feels a slow machine quite as the anchor does."""

NO_VETO_BEYOND = 10.0
"""Multiple of the threshold beyond which the anchor needs a slow machine to veto: a bad anchor must not hide a large
regression.

Ten times is 20 % at the usual tolerance: most clocks that fall and machines that are hot are slower by less.
"""

SLOW_SHARE = 0.5
"""Part of such a change by which the anchor at its best must have become slower, too. A clock cap in mid-session slows
code by more than 20 %: without this, it failed 10 % of the unchanged cases on virtual devices, with it 0.07 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What became of one metric."""

    change: Change
    awaiting: bool = False
    """Whether a confirmation would decide it."""
    one_start: bool = False
    """Whether both sides have one process start, so that their spread is not known."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """Both sides of one metric, in raw units."""

    base: Side
    candidate: Estimate
    confirmation: Estimate | None
    starts: int
    """Process starts that a suspect has in the end, its confirmation's included."""
    sign: int
    """1 where higher is worse, -1 where lower is."""
    tolerance: float
    """As a fraction."""
    floor: float
    """Absolute floor of the threshold."""
    anchored: bool
    timed: bool
    """Whether values are times in ns."""


def judge(
    candidate: Measurement,
    befores: Sequence[Measurement],
    policy: Policy,
    *,
    same_anchor: bool,
    starts: int | None = None,
) -> Judged:
    """Judge one metric.

    Args:
        candidate: Its measurement now, with its confirmation where there is one.
        befores: The metric in every run that serves, newest first, not empty.
        policy: What the comparison is strict about.
        same_anchor: Whether the anchor kernel is the same on both sides.
        starts: Process starts planned of the candidate; None: as many as it has.
    """
    slow = next((each for each in (candidate, *befores) if each.stop == "too-slow" and not each.samples_ns), None)
    if slow is not None:
        return _unjudged(candidate, "inconclusive", too_slow(slow, now=slow is candidate))
    try:
        sides = _sides(candidate, befores, policy, same_anchor=same_anchor, starts=starts)
    except NotSamples as found:
        return _unjudged(candidate, "incomparable", str(found))
    if sides.base.robust == 0:
        return _unjudged(candidate, "incomparable", "the baseline is 0, so there is no ratio")
    bound = threshold(sides.base, sides.candidate, tolerance=sides.tolerance, floor=sides.floor, policy=policy)
    one_start = sides.base.starts == 1 and len(sides.candidate.floors) == 1
    scalars = _few(sides)
    if scalars is not None:
        return Judged(change=_change(candidate, sides, bound, "inconclusive", reason=scalars), one_start=one_start)
    verdict, stopped, confirmed = _rule(sides, bound, policy, one_start=one_start)
    awaiting = stopped == "unconfirmed" and candidate.confirmation is None
    change = _change(candidate, sides, bound, verdict, stopped=stopped, confirmed=confirmed)
    return Judged(change=change, awaiting=awaiting, one_start=one_start)


def _sides(
    candidate: Measurement, befores: Sequence[Measurement], policy: Policy, *, same_anchor: bool, starts: int | None
) -> _Sides:
    planned = candidate.planned_rounds or len(candidate.process)
    anchored = (
        policy.anchor
        and policy.rule == "proven"
        and same_anchor
        and candidate.kind == "rounds"
        and all(anchored_throughout(each) for each in (candidate, *befores))
    )
    now = estimate(candidate, iqr=policy.iqr, anchor=anchored)
    return _Sides(
        base=baseline_side(befores, planned, policy, anchor=anchored),
        candidate=now,
        starts=(starts or len(now.floors)) * (2 if policy.confirm else 1),
        confirmation=estimate_confirmation(candidate, iqr=policy.iqr, anchor=anchored),
        sign=-1 if candidate.better == "higher" else 1,
        tolerance=tolerance_of(candidate, policy),
        floor=floor_of(candidate),
        anchored=anchored,
        timed=candidate.samples_ns is not None,
    )


def _rule(sides: _Sides, bound: Bound, policy: Policy, *, one_start: bool) -> tuple[Verdict, Step | None, bool | None]:
    """Apply the rule: the verdict, the step that stopped a suspect, and whether it was confirmed."""
    worse = beyond(sides.candidate.robust, sides.base.robust, bound.value, sides.sign)
    better = beyond(sides.candidate.robust, sides.base.robust, bound.value, -sides.sign)
    if policy.rule == "iqr":
        return ("regressed" if worse else "improved" if better else "within_noise"), None, None
    if better:
        holds = one_start or starts_differ(sides, -sides.sign, second=False)
        holds = holds and not vetoed(sides, bound, -sides.sign, second=False)
        return ("improved" if holds else "within_noise"), None, None
    if not worse:
        return "within_noise", None, None
    stopped = _stopped(sides, bound, policy, one_start=one_start)
    looked = policy.confirm and sides.confirmation is not None
    return ("suspect" if stopped else "regressed"), stopped, (stopped != "confirm" if looked else None)


def _stopped(sides: _Sides, bound: Bound, policy: Policy, *, one_start: bool) -> Step | None:
    """Find the step that a suspect does not pass; None where it passes all."""
    second = policy.confirm and sides.confirmation is not None
    if policy.confirm and sides.confirmation is None:
        # A veto of the first look stands whatever the second finds, so there is no need for one.
        return "anchor" if vetoed(sides, bound, sides.sign, second=False) else "unconfirmed"
    if second and not _found_again(sides, policy):
        return "confirm"
    if not one_start and not starts_differ(sides, sides.sign, second=second):
        return "starts"
    return "anchor" if vetoed(sides, bound, sides.sign, second=second) else None


def _found_again(sides: _Sides, policy: Policy) -> bool:
    assert sides.confirmation is not None
    again = threshold(sides.base, sides.confirmation, tolerance=sides.tolerance, floor=sides.floor, policy=policy)
    return beyond(sides.confirmation.robust, sides.base.robust, again.value * CONFIRM_SHARE, sides.sign)


def starts_differ(sides: _Sides, sign: int, *, second: bool) -> bool:
    """Tell whether a change exceeds what process starts differ: by t-test, or by three times the largest gap.

    Args:
        sides: Both sides.
        sign: 1 where higher is looked for, -1 where lower.
        second: Whether the confirmation counts with the candidate.
    """
    looks = [sides.candidate]
    if second and sides.confirmation is not None:
        looks.append(sides.confirmation)
    floors = [floor for look in looks for floor in look.floors]
    if _apart(sides.base.floors, floors, sign):
        return True
    if sides.anchored and _apart(sides.base.floors_n, [floor for look in looks for floor in look.floors_n], sign):
        return True
    gap = max(sides.base.gap, *(look.gap for look in looks))
    least = min(sign * look.robust for look in looks)
    return least - sign * sides.base.robust > GAP_FACTOR * gap


def _apart(base: Sequence[float], floors: Sequence[float], sign: int) -> bool:
    """Test floors against those of the baseline, as logarithms where they are positive."""
    if min(base, default=0) > 0 and min(floors, default=0) > 0:
        base, floors = [math.log(value) for value in base], [math.log(value) for value in floors]
    low, high = (base, floors) if sign > 0 else (floors, base)
    return stats.clearly_higher(low, high, START_TEST_CHANCE)


def vetoed(sides: _Sides, bound: Bound, sign: int, *, second: bool) -> bool:
    """Tell whether the anchor says that the machine changed, not the code."""
    if not sides.anchored or sides.base.n is None:
        return False
    looks = [sides.candidate]
    if second and sides.confirmation is not None:
        looks.append(sides.confirmation)
    if beyond(sides.candidate.robust, sides.base.robust, NO_VETO_BEYOND * bound.value, sign):
        change = sign * (sides.candidate.robust / sides.base.robust - 1)
        if min(_slowdown(look, sides, sign) for look in looks) < SLOW_SHARE * change:
            return False
    return any(
        sign * (look.n / sides.base.n - 1) <= VETO_SHARE * sides.tolerance + VETO_SLACK * _slowdown(look, sides, sign)
        for look in looks
        if look.n is not None
    )


def _slowdown(look: Estimate, sides: _Sides, sign: int) -> float:
    """Tell by which fraction the machine at its best was slower than in the baseline, by the anchor."""
    if look.level is None or sides.base.level is None:
        return 0.0
    return max(0.0, sign * (look.level / sides.base.level - 1))


def _few(sides: _Sides) -> str | None:
    """Say which side holds too little to judge by; None where both hold enough."""
    now = history([sides.candidate])
    for word, side in (("this run", now), ("the baseline", sides.base)):
        if not side.judgeable:
            return f"{word} has too few {'rounds' if sides.candidate.iterations else 'values'} to judge by"
    return None


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


def _change(
    candidate: Measurement,
    sides: _Sides,
    bound: Bound,
    verdict: Verdict,
    *,
    stopped: Step | None = None,
    confirmed: bool | None = None,
    reason: str | None = None,
) -> Change:
    scale = 1 / NS_PER_MS if sides.timed else 1.0
    delta = sides.candidate.robust - sides.base.robust
    return Change(
        metric=candidate.name,
        verdict=verdict,
        unit=candidate.unit,
        better=candidate.better,
        baseline=sides.base.robust * scale,
        candidate=sides.candidate.robust * scale,
        delta=delta * scale,
        delta_pct=100 * delta / abs(sides.base.robust),
        decided_by=bound.decided_by,
        threshold=bound.value * scale,
        iqr_baseline=sides.base.iqr * scale,
        iqr_candidate=sides.candidate.iqr * scale,
        confirmed=confirmed,
        detectable_pct=detectable(
            sides.base,
            sides.candidate,
            bound.value,
            starts=sides.starts,
            chance=START_TEST_CHANCE,
            gap_factor=GAP_FACTOR,
        ),
        stopped_by=stopped,
        reason=reason,
    )

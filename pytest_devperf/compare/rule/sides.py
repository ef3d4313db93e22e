"""Both sides of one metric, prepared for the steps of the rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_devperf import stats
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.baseline import BaselineEstimate, estimate_baseline
from pytest_devperf.compare.rule.estimate import (
    Estimate,
    NotSamples,
    anchored_throughout,
    estimate,
    estimate_confirmation,
)
from pytest_devperf.compare.rule.threshold import Bound, beyond, floor_of, threshold, tolerance_of
from pytest_devperf.record.record import Measurement


@dataclass(frozen=True, slots=True)
class Sides:
    """A baseline and the run compared with it, in raw units."""

    base: BaselineEstimate
    first: Estimate
    second: Estimate | None
    """The confirmation, including all later measurements of a suspect."""
    now: Estimate
    """Both looks together."""
    sign: int
    """1 if higher is worse, -1 if lower is."""
    tolerance: float
    """As a fraction."""
    floor: float
    """Absolute floor of the threshold."""
    anchored: bool
    """Whether every round of both sides has its anchor, from the same kernel."""
    timed: bool
    """Whether values are times in ns."""
    of_rounds: bool
    """Whether it is a metric of rounds: interference can only increase its values."""
    whole: bool
    """Whether the first look has all its rounds."""
    around: float
    """Slowdown of the machine by the anchors of the case's rounds, as a fraction; 0.0 if they show none, or if the
    metric has anchors of its own."""
    one_start: bool
    """Whether both sides have only one process start, so that the difference between starts is not known."""

    def bound(self, look: Estimate | None, policy: Policy) -> Bound:
        """Return the threshold between the baseline and a look; None: the one from the baseline alone."""
        return threshold(self.base, look, tolerance=self.tolerance, floor=self.floor, policy=policy)

    def beyond(self, look: Estimate, bound: float, sign: int) -> bool:
        """Return whether a look is beyond a bound: above the baseline for sign 1, below it for -1."""
        return beyond(look.robust, self.base.robust, bound, sign)

    @property
    def machine_change(self) -> float | None:
        """How much slower the machine was, by its lowest anchor, as a fraction; None without an anchor."""
        if not self.now.levels or self.base.level is None:
            return None
        return min(self.now.levels) / self.base.level - 1

    @property
    def shortage(self) -> str | None:
        """The side with too few rounds or values for a verdict, and the remedy; None if both have enough."""
        # A load, a size or a recorded value has one value per process start.
        noun, option = ("rounds", "--devperf-rounds") if self.first.iterations else ("values", "--devperf-processes")
        if not self.first.judgeable:
            return f"this run has too few {noun} to judge by: measure more ({option})"
        if not self.base.judgeable:
            return f"the baseline has too few {noun} to judge by: save one with more ({option})"
        return None


def lay_out(
    candidate: Measurement,
    befores: Sequence[Measurement],
    policy: Policy,
    *,
    same_anchor: bool,
    starts: int | None,
    around: float = 0.0,
) -> Sides:
    """Estimate both sides.

    Args:
        candidate: The measurement now, with its confirmation if there is one.
        befores: The metric in every usable run, newest first, not empty.
        policy: The policy of the comparison.
        same_anchor: Whether the anchor kernel is the same on both sides.
        starts: Process starts planned for the candidate; None: as many as it has.
        around: Slowdown of the machine by the anchors of the case's rounds.

    Raises:
        NotSamples: A side contains invalid samples.
    """
    planned = candidate.planned_rounds or len(candidate.process)
    anchored = (
        policy.anchor
        and policy.rule == "proven"
        and same_anchor
        and candidate.kind == "rounds"
        and all(anchored_throughout(each) for each in (candidate, *befores))
    )
    first = estimate(candidate, iqr=policy.iqr, anchor=anchored)
    second = estimate_confirmation(candidate, iqr=policy.iqr, anchor=anchored) if policy.confirm else None
    looks = max(starts or 0, len(first.floors))
    base = estimate_baseline(befores, planned, policy, starts=looks, anchor=anchored)
    return Sides(
        base=base,
        first=first,
        second=second,
        now=first if second is None else first.with_look(second),
        sign=-1 if candidate.better == "higher" else 1,
        tolerance=tolerance_of(candidate, policy),
        floor=floor_of(candidate),
        anchored=anchored,
        timed=candidate.samples_ns is not None,
        of_rounds=candidate.kind == "rounds",
        whole=len(candidate.process) >= planned,
        around=around if candidate.kind == "start" and policy.anchor and policy.rule == "proven" else 0.0,
        one_start=base.starts == 1 and len(first.floors) == 1,
    )


def slowdown_around(
    metrics: Sequence[Measurement], befores: Sequence[Sequence[Measurement]], policy: Policy, *, same_anchor: bool
) -> float:
    """Return how much slower the machine was while a case was measured, by the anchors of its rounds, as a fraction.

    Args:
        metrics: The case now.
        befores: The case in every usable run.
        policy: The policy of the comparison.
        same_anchor: Whether the anchor kernel is the same on both sides.

    Returns:
        0.0 if it was not slower, or if that is not known.
    """
    now = _levels(metrics, policy) if same_anchor else []
    then = [level for before in befores for level in _levels(before, policy)]
    return max(0.0, stats.median(now) / stats.median(then) - 1) if now and then else 0.0


def _levels(metrics: Sequence[Measurement], policy: Policy) -> list[float]:
    """Return the lowest anchor of each process start of the first metric of rounds that has anchors."""
    for metric in metrics:
        if metric.kind == "rounds" and anchored_throughout(metric):
            try:
                looks = (estimate(metric, iqr=policy.iqr), estimate_confirmation(metric, iqr=policy.iqr))
            except NotSamples:
                continue
            return [level for look in looks if look is not None for level in look.levels]
    return []

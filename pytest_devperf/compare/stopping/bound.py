"""Derive from a baseline how much to measure, and when to stop."""

from __future__ import annotations

from pytest_devperf.compare.gate import serving, unlike_metric
from pytest_devperf.compare.history import Baseline
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.baseline import estimate_baseline
from pytest_devperf.compare.rule.estimate import NotSamples
from pytest_devperf.compare.rule.threshold import CONFIRM_SHARE, floor_of, threshold, tolerance_of
from pytest_devperf.record.record import Measurement


def early_bound_ns(
    baseline: Baseline,
    metric_name: str,
    policy: Policy,
    planned_rounds: int,
    *,
    starts: int | None = None,
    confirming: bool = False,
) -> float | None:
    """Compute the bound below which no later round can turn a pass into a fail.

    The lowest centre of a round can only fall. Once it is at or below the value that the baseline alone allows, the
    verdict is final: the candidate's own IQR and clock can only widen the threshold.

    Args:
        baseline: The baseline of the case.
        metric_name: A metric of rounds.
        policy: The policy of the comparison.
        planned_rounds: Rounds planned now over all starts; the baseline is cut to the same number.
        starts: Process starts planned now for the first look; None: at least as many as the baseline has.
        confirming: Whether a confirmation is measured, which has to find half the threshold.

    Returns:
        A centre in ns per call, as computed by `undisturbed`; None if there is no such bound, or if centres are
        those of all iterations of a round.
    """
    if policy.iqr != "undisturbed":
        return None
    befores = _serving(baseline, metric_name, policy)
    if not baseline.same_device or not befores or befores[0].kind != "rounds":
        return None
    try:
        # The anchor can only reduce the spread of saved runs, so the bound is never too high.
        anchor = policy.anchor and policy.rule == "proven"
        side = estimate_baseline(befores, planned_rounds, policy, starts=starts, anchor=anchor)
    except NotSamples:
        return None
    if not side.judgeable:
        return None
    first = befores[0]
    allowed = threshold(side, None, tolerance=tolerance_of(first, policy), floor=floor_of(first), policy=policy).value
    return side.robust + (allowed * CONFIRM_SHARE if confirming else allowed)


def pace_of(baseline: Baseline, metric_name: str, policy: Policy | None = None) -> tuple[int, int] | None:
    """Return the iterations per round and the inner loops that a comparison has to use.

    Args:
        baseline: The baseline of the case.
        metric_name: A metric of rounds.
        policy: The policy of the comparison, which determines the runs used.

    Returns:
        None if the baseline does not contain the metric in rounds.
    """
    runs, _ = serving(baseline, policy or Policy())
    for run in runs:
        for measurement in run.record.metrics:
            if measurement.name == metric_name and measurement.kind == "rounds" and measurement.samples_ns:
                return run.record.iterations or len(measurement.samples_ns[0]), measurement.inner_loops or 1
    return None


def _serving(baseline: Baseline, metric_name: str, policy: Policy) -> list[Measurement]:
    """Return what `compare` will use: the metric in every usable run that matches the newest."""
    runs, _ = serving(baseline, policy)
    held = [each for run in runs for each in run.record.metrics if each.name == metric_name]
    return [each for each in held if unlike_metric(held[0], each) is None]

"""Compare a record with its baseline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_devperf.compare.change import lost, unjudged
from pytest_devperf.compare.gate import Gate, check, unlike_metric
from pytest_devperf.compare.history import Baseline, BaselineRun
from pytest_devperf.compare.looks import Further
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.counted import COUNTED, counts_only, disagreement, judge_counts, left_out
from pytest_devperf.compare.rule.sides import slowdown_around
from pytest_devperf.compare.rule.verdict import Judged, judge
from pytest_devperf.metric import INFORMATIONAL
from pytest_devperf.record.record import Change, Comparison, Measurement, Record, Verdict

WORST_FIRST: tuple[Verdict, ...] = (
    "regressed",
    "incomparable",
    "suspect",
    "improved",
    "within_noise",
    "inconclusive",
    "new",
    "skipped",
)
"""The verdict of a case is the first of these that one of its metrics has.

`improved` comes before `within_noise`, which means that nothing was found. The verdicts of metrics that were not judged
come last, so that they count only if there are no others.
"""

QUIET: frozenset[Verdict] = frozenset({"improved", "within_noise"})
"""Verdicts that claim that nothing worse was found."""

EXPLAINED = frozenset({"anchor", "waits"})
"""Steps that stop a suspect because of the machine; this is final, whatever is measured later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The result of a case so far."""

    comparison: Comparison
    further: Further | None = None
    """The next measurement, which may change the verdict; None: the verdict is final."""
    settled: bool = False
    """Whether the first look may end before all its starts, because no later one can change the verdict."""


def compare(
    record: Record, baseline: Baseline | None, policy: Policy, *, measured_once: Collection[str] = ()
) -> Comparison:
    """Compare a case with its baseline.

    Args:
        record: The case now; its suspects may have a confirmation.
        baseline: The baseline; None: the case is `new`.
        policy: The policy of the comparison.
        measured_once: Metrics that no later process start can measure again: they are judged without a confirmation.

    Returns:
        The verdict of its worst metric. `awaiting` if a confirmation would decide it.
    """
    return compare_so_far(record, baseline, policy, measured_once=measured_once).comparison


def compare_so_far(
    record: Record, baseline: Baseline | None, policy: Policy, *, measured_once: Collection[str] = ()
) -> Reached:
    """Compare the measurements of a case so far, and decide what to measure next.

    Args:
        record: The case now: its first look, complete or not, and later measurements of a suspect.
        baseline: The baseline; None: the case is `new`.
        policy: The policy of the comparison.
        measured_once: As in `compare`.
    """
    if record.outcome != "passed":
        return Reached(comparison=Comparison(verdict="skipped", reason=record.reason or f"the test {_ended(record)}"))
    if baseline is None or not baseline.runs:
        return Reached(comparison=Comparison(verdict="new", reason="the baseline has no passed run of this case"))
    counts = [Judged(change=change) for change in judge_counts(record, baseline, policy)]
    if counts and counts_only(record):
        return _reached(record, Gate(runs=baseline.runs), counts)
    gate = check(record, baseline, policy)
    if gate.refusal is not None:
        return Reached(comparison=_refused(record, baseline, gate, counts))
    unasked = left_out(record, baseline)
    if unasked is not None:
        gate = replace(gate, notes=(*gate.notes, unasked))
    timed = [*_judged(record, gate.runs, policy, measured_once), *_gone(record, gate.runs[0].record)]
    return _reached(record, gate, [*timed, *counts], measured_once)


def _refused(record: Record, baseline: Baseline, gate: Gate, counts: Sequence[Judged]) -> Comparison:
    """Refuse to compare times; instructions are judged all the same."""
    assert gate.refusal is not None
    refused = [
        unjudged(each, gate.refusal)
        for each in record.metrics
        if each.name not in INFORMATIONAL and each.kind != COUNTED
    ]
    changes = (*refused, *(one.change for one in counts))
    verdict = worst(["incomparable", *(change.verdict for change in changes)])
    return Comparison(
        verdict=verdict,
        baseline_runs=tuple(run.run_id for run in gate.runs or baseline.runs),
        changes=changes,
        reason=gate.refusal,
        cautions=dict(gate.cautions),
        notes=gate.notes,
    )


def _reached(record: Record, gate: Gate, judged: Sequence[Judged], measured_once: Collection[str] = ()) -> Reached:
    verdict = _verdict(judged)
    cautions = dict(gate.cautions)
    if any(one.one_start for one in judged if one.change.metric not in measured_once):
        cautions["one-start"] = "both sides have one process start, so the difference between starts is unknown"
    requests = [one.further for one in judged if one.further is not None]
    further = max(requests, key=lambda request: (request.rounds, request.starts), default=None)
    comparison = Comparison(
        verdict=verdict,
        baseline_runs=tuple(run.run_id for run in gate.runs),
        changes=tuple(one.change for one in judged),
        reason=_reason(verdict, [one.change for one in judged]),
        awaiting=further is not None
        and not any(metric.confirmation for metric in record.metrics if metric.kind != COUNTED),
        cautions=cautions,
        notes=(*gate.notes, *_mixed_commits(gate.runs)),
        disagreement=disagreement([one.change for one in judged]),
    )
    return Reached(comparison=comparison, further=further, settled=_settled(record, judged))


def _verdict(judged: Sequence[Judged]) -> Verdict:
    """Return the verdict of a case: that of its worst metric, but not a quiet one if the comparison was blind."""
    verdict = worst(one.change.verdict for one in judged) if judged else "inconclusive"
    return "inconclusive" if verdict in QUIET and any(one.blind for one in judged) else verdict


def _settled(record: Record, judged: Sequence[Judged]) -> bool:
    """Return whether no further start of the first look can change the result of any metric of rounds."""
    passed = {metric.name for metric in record.metrics if metric.kind != "rounds" or metric.stop == "early-pass"}
    return all(one.change.metric in passed or one.change.stopped_by in EXPLAINED for one in judged)


def metrics_judged(baselines: Iterable[Baseline | None]) -> int:
    """Count the metrics that a comparison judges, from the cases' newest saved runs.

    Args:
        baselines: One per case; None for a new one.
    """
    return sum(
        metric.name not in INFORMATIONAL and metric.kind != COUNTED  # counts have no chance to share
        for baseline in baselines
        if baseline is not None and baseline.runs
        for metric in baseline.runs[0].record.metrics
    )


def worst(verdicts: Iterator[Verdict] | Sequence[Verdict]) -> Verdict:
    """Return the worst verdict; verdicts of metrics that were not judged count only if there are no others."""
    return min(verdicts, key=WORST_FIRST.index)


def _judged(
    record: Record, runs: Sequence[BaselineRun], policy: Policy, measured_once: Collection[str]
) -> Iterator[Judged]:
    """Judge every metric of a comparable case."""
    befores: list[dict[str, Measurement]] = [{each.name: each for each in run.record.metrics} for run in runs]
    identity = record.run_context.anchor
    same_anchor = identity is not None and all(run.record.run_context.anchor == identity for run in runs)
    around = 0.0
    if any(measurement.kind == "start" for measurement in record.metrics):
        around = slowdown_around(record.metrics, [run.record.metrics for run in runs], policy, same_anchor=same_anchor)
    for measurement in record.metrics:
        if measurement.name in INFORMATIONAL or measurement.kind == COUNTED:
            continue
        held = [metrics[measurement.name] for metrics in befores if measurement.name in metrics]
        if not held:
            reason = "the baseline does not have this metric"
            yield Judged(change=unjudged(measurement, reason, verdict="new"))
            continue
        different = unlike_metric(measurement, held[0])
        if different is not None:
            yield Judged(change=unjudged(measurement, different))
            continue
        alike = [before for before in held if unlike_metric(held[0], before) is None]
        own_policy = replace(policy, confirm=False) if measurement.name in measured_once else policy
        yield judge(measurement, alike, own_policy, same_anchor=same_anchor, starts=record.processes, around=around)


def _gone(record: Record, before: Record) -> Iterator[Judged]:
    """Report metrics that this run lacks but the baseline has, so that a lost metric is not overlooked."""
    names = {each.name for each in record.metrics}
    for measurement in before.metrics:
        if measurement.name not in names and measurement.name not in INFORMATIONAL and measurement.kind != COUNTED:
            yield Judged(change=lost(measurement, "the baseline has this metric, this run does not"))


def _reason(verdict: Verdict, changes: Sequence[Change]) -> str | None:
    """Return the reason of a case that was not judged: that of its first metric with the same verdict."""
    if not changes:
        return "no measured metric is compared"
    for change in changes:
        if change.verdict == verdict and change.reason is not None:
            return f"{change.metric}: {change.reason}"
    return None


def _mixed_commits(runs: Sequence[BaselineRun]) -> Iterator[str]:
    """Report that the runs of a baseline are from different commits."""
    commits = {run.commit.id for run in runs if run.commit is not None and run.commit.id is not None}
    if len(commits) > 1:
        yield f"the baseline has runs of {len(commits)} commits"


def _ended(record: Record) -> str:
    return {"failed": "failed", "error": "ended in an error", "skipped": "was skipped"}.get(record.outcome, "")

"""Setting a record beside its baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_devperf.compare.change import lost, unjudged
from pytest_devperf.compare.gate import Gate, check, unlike_metric
from pytest_devperf.compare.history import Baseline, BaselineRun
from pytest_devperf.compare.looks import Further
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.verdict import Judged, judge
from pytest_devperf.metric import TOLD_ONLY
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
"""A case has the first of these that one of its metrics has.

`improved` stands before `within_noise`, which says that nothing was found; what was not judged stands last,
so that it counts only where nothing else does.
"""

QUIET: frozenset[Verdict] = frozenset({"improved", "within_noise"})
"""Verdicts that claim to have looked and found nothing worse."""

EXPLAINED = frozenset({"anchor", "waits"})
"""Steps that stop a suspect for what the machine was seen to do; that stands, whatever is measured later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What a case has come to so far."""

    comparison: Comparison
    further: Further | None = None
    """What to measure next, since it may change the verdict; None: the verdict is final."""
    settled: bool = False
    """Whether the first look may end here, though it has not had all its starts: no later one changes the verdict."""


def compare(record: Record, baseline: Baseline | None, policy: Policy) -> Comparison:
    """Compare a case with its baseline.

    Args:
        record: The case now; its suspects may carry a confirmation.
        baseline: None makes it `new`.
        policy: What the comparison is strict about.

    Returns:
        The verdict of its worst metric. `awaiting` where a confirmation would decide it.
    """
    return compare_so_far(record, baseline, policy).comparison


def compare_so_far(record: Record, baseline: Baseline | None, policy: Policy) -> Reached:
    """Compare what is measured of a case so far, and say what to measure next.

    Args:
        record: The case now: its first look, whole or in part, and what has been measured since of a suspect.
        baseline: None makes it `new`.
        policy: What the comparison is strict about.
    """
    if record.outcome != "passed":
        return Reached(comparison=Comparison(verdict="skipped", reason=record.reason or f"the test {_ended(record)}"))
    if baseline is None or not baseline.runs:
        return Reached(comparison=Comparison(verdict="new", reason="the baseline has no passed run of this case"))
    gate = check(record, baseline, policy)
    if gate.refusal is not None:
        refused = Comparison(
            verdict="incomparable",
            baseline_runs=tuple(run.run_id for run in gate.runs or baseline.runs),
            changes=tuple(unjudged(each, gate.refusal) for each in record.metrics if each.name not in TOLD_ONLY),
            reason=gate.refusal,
            cautions=dict(gate.cautions),
            notes=gate.notes,
        )
        return Reached(comparison=refused)
    return _compared(record, gate, policy)


def _compared(record: Record, gate: Gate, policy: Policy) -> Reached:
    judged = [*_judged(record, gate.runs, policy), *_gone(record, gate.runs[0].record)]
    verdict = _verdict(judged)
    cautions = dict(gate.cautions)
    if any(one.one_start for one in judged):
        cautions["one-start"] = "both sides have one process start, so the difference between starts is unknown"
    wishes = [one.further for one in judged if one.further is not None]
    further = max(wishes, key=lambda wish: (wish.rounds, wish.starts), default=None)
    comparison = Comparison(
        verdict=verdict,
        baseline_runs=tuple(run.run_id for run in gate.runs),
        changes=tuple(one.change for one in judged),
        reason=_reason(verdict, [one.change for one in judged]),
        awaiting=further is not None and not any(metric.confirmation for metric in record.metrics),
        cautions=cautions,
        notes=(*gate.notes, *_told(gate.runs)),
    )
    return Reached(comparison=comparison, further=further, settled=_settled(record, judged))


def _verdict(judged: Sequence[Judged]) -> Verdict:
    """Choose the verdict of a case: that of its worst metric, but never a quiet one where it was blind."""
    verdict = worst(one.change.verdict for one in judged) if judged else "inconclusive"
    return "inconclusive" if verdict in QUIET and any(one.blind for one in judged) else verdict


def _settled(record: Record, judged: Sequence[Judged]) -> bool:
    """Tell whether no further start of the first look changes what became of a metric made of rounds."""
    passed = {metric.name for metric in record.metrics if metric.kind != "rounds" or metric.stop == "early-pass"}
    return all(one.change.metric in passed or one.change.stopped_by in EXPLAINED for one in judged)


def metrics_judged(baselines: Iterable[Baseline | None]) -> int:
    """Count the metrics that a comparison judges, from what the cases' newest saved runs hold.

    Args:
        baselines: One per case; None for a new one.
    """
    return sum(
        metric.name not in TOLD_ONLY
        for baseline in baselines
        if baseline is not None and baseline.runs
        for metric in baseline.runs[0].record.metrics
    )


def worst(verdicts: Iterator[Verdict] | Sequence[Verdict]) -> Verdict:
    """Choose the worst verdict; what was not judged counts only alone."""
    return min(verdicts, key=WORST_FIRST.index)


def _judged(record: Record, runs: Sequence[BaselineRun], policy: Policy) -> Iterator[Judged]:
    """Judge every metric of a case that is compared."""
    befores: list[dict[str, Measurement]] = [{each.name: each for each in run.record.metrics} for run in runs]
    identity = record.run_context.anchor
    same_anchor = identity is not None and all(run.record.run_context.anchor == identity for run in runs)
    for measurement in record.metrics:
        if measurement.name in TOLD_ONLY:
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
        yield judge(measurement, alike, policy, same_anchor=same_anchor, starts=record.processes)


def _gone(record: Record, before: Record) -> Iterator[Judged]:
    """Tell of metrics that the baseline holds and this run lacks: a gate that lost its metric must not look open."""
    names = {each.name for each in record.metrics}
    for measurement in before.metrics:
        if measurement.name not in names and measurement.name not in TOLD_ONLY:
            yield Judged(change=lost(measurement, "the baseline has this metric, this run does not"))


def _reason(verdict: Verdict, changes: Sequence[Change]) -> str | None:
    """Give the reason of a case that was not judged: that of its first metric with the same verdict."""
    if not changes:
        return "no measured metric is compared"
    for change in changes:
        if change.verdict == verdict and change.reason is not None:
            return f"{change.metric}: {change.reason}"
    return None


def _told(runs: Sequence[BaselineRun]) -> Iterator[str]:
    """Tell where the runs of a baseline are of different code."""
    commits = {run.commit.id for run in runs if run.commit is not None and run.commit.id is not None}
    if len(commits) > 1:
        yield f"the baseline has runs of {len(commits)} commits"


def _ended(record: Record) -> str:
    return {"failed": "failed", "error": "ended in an error", "skipped": "was skipped"}.get(record.outcome, "")

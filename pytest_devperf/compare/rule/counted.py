"""Judge counted instructions: they repeat, so a change beyond their tolerance is one, whatever the load or the heat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_devperf import stats
from pytest_devperf.compare.change import lost, unjudged
from pytest_devperf.compare.gate import unlike_metric
from pytest_devperf.compare.history import Baseline
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.threshold import Bound, beyond, tolerance_of, widest
from pytest_devperf.metric import IR, LATENCY
from pytest_devperf.record.caution import CAUTIONS
from pytest_devperf.record.derived import centre_of_layouts
from pytest_devperf.record.record import Change, Comparison, Counting, Measurement, Record, Verdict

COUNTED = "counted"
"""Kind of metric."""

NOT_COUNTED = "not-counted"
"""Caution of a record whose instructions were to be counted, and were not."""

REFUSING = ("instrumented", "unseeded", "provider-fell-back")
"""Refusing cautions that concern instructions as well; all others are about time."""

WORDS: Mapping[str, str] = {
    "tool": "valgrind",
    "abi": "processor",
    "python": "Python",
    "libc": "C library",
    "allocator": "allocator",
}
"""Facts of counting, and what they are called."""


def counts_only(record: Record) -> bool:
    """Return whether a record has no other metrics than instructions, because no time was to be measured."""
    return record.counting is not None and all(each.kind == COUNTED for each in record.metrics)


def judge_counts(record: Record, baseline: Baseline, policy: Policy) -> Iterator[Change]:
    """Judge the instructions of a case, metric by metric.

    Neither another device nor a caution about time matters; a canary that differs does.

    Args:
        record: The case now; its suspects may have been counted again.
        baseline: Its saved runs.
        policy: The policy of the comparison.
    """
    now = [each for each in record.metrics if each.kind == COUNTED]
    runs = [run.record for run in baseline.runs if any(each.kind == COUNTED for each in run.record.metrics)]
    if not runs:
        yield from (unjudged(each, "the baseline does not have this metric", verdict="new") for each in now)
        return
    lead = runs[0]
    refusal = refuse_counts(record, lead, policy)
    alike = [lead, *(each for each in runs[1:] if refuse_counts(lead, each, policy) is None)]
    for measurement in now:
        held = [each for run in alike for each in run.metrics if each.name == measurement.name]
        reason = refusal if refusal is not None or not held else unlike_metric(measurement, held[0])
        if reason is not None:
            yield unjudged(measurement, reason)
        elif not held:
            yield unjudged(measurement, "the baseline does not have this metric", verdict="new")
        else:
            same = [each for each in held if unlike_metric(held[0], each) is None]
            yield judge_count(measurement, same, policy)
    yield from _lost(record, lead)


def _lost(record: Record, lead: Record) -> Iterator[Change]:
    """Report instructions that the baseline has and this run was to count, and did not."""
    why = record.caution_notes.get(NOT_COUNTED)
    if record.counting is None and why is None:
        return  # nobody asked for them
    names = {each.name for each in record.metrics}
    for before in lead.metrics:
        if before.kind == COUNTED and before.name not in names:
            yield lost(before, why or "the baseline has this metric, this run does not")


def left_out(record: Record, baseline: Baseline) -> str | None:
    """Return a note if instructions of the baseline were not to be counted now; None otherwise."""
    if record.counting is not None or NOT_COUNTED in record.cautions:
        return None
    has = any(each.kind == COUNTED for run in baseline.runs[:1] for each in run.record.metrics)
    return "the baseline has instructions, which --devperf-count counts" if has else None


def refuse_counts(record: Record, before: Record, policy: Policy) -> str | None:
    """Return why the instructions of two records are not comparable; None if they are."""
    if record.workload.fingerprint != before.workload.fingerprint:
        return "the workload differs"
    for side, words in ((record, ""), (before, " in the baseline")):
        slug = next((slug for slug in REFUSING if slug in side.cautions and slug not in policy.accept), None)
        if slug is not None:
            return f"{slug}{words} ({side.caution_notes.get(slug, CAUTIONS[slug].words)}): {CAUTIONS[slug].remedy}"
    return unlike_counting(record.counting, before.counting)


def unlike_counting(now: Counting | None, then: Counting | None) -> str | None:
    """Return in what two ways of counting differ; None if they are alike."""
    if now is None or then is None:
        return "how they were counted is not known"
    for name, words in WORDS.items():
        here, there = getattr(now, name), getattr(then, name)
        if here != there and name != "libc":  # the canary decides: most versions of a C library count alike
            return f"counted with {words} {there} in the baseline and {here} now: save a new baseline"
    apart = sorted(name for name in {*now.canary, *then.canary} if now.canary.get(name) != then.canary.get(name))
    if not apart:
        return None
    name = apart[0]
    here, there = now.canary.get(name), then.canary.get(name)
    libraries = f" (C library {then.libc} in the baseline, {now.libc} now)" if now.libc != then.libc else ""
    return (
        f"the canary {name!r}, fixed work, took {_count(there)} instructions in the baseline and {_count(here)} now"
        f"{libraries}: another processor or build of Python counts otherwise, so save a baseline there"
    )


def _count(instructions: int | None) -> str:
    return "no" if instructions is None else f"{instructions:,}"


def judge_count(candidate: Measurement, befores: Sequence[Measurement], policy: Policy) -> Change:
    """Judge one metric of instructions.

    Args:
        candidate: Its count now, with a second one if there is one.
        befores: The metric in every usable run, newest first, not empty.
        policy: The policy of the comparison.
    """
    values = [each.robust for each in befores if each.robust is not None]
    if candidate.robust is None or not values or stats.median(values) <= 0:
        return unjudged(candidate, "the baseline is 0, so there is no ratio")
    base = stats.median(values)
    range_before = max(*(each.iqr or 0.0 for each in befores), max(values) - min(values))
    range_now = candidate.iqr or 0.0
    bound = _bound(base, max(range_before, range_now), candidate, policy)
    verdict, stopped, confirmed = _rule(candidate, base, bound, policy)
    delta = candidate.robust - base
    return Change(
        metric=candidate.name,
        verdict=verdict,
        unit=candidate.unit,
        better=candidate.better,
        baseline=base,
        candidate=candidate.robust,
        delta=delta,
        delta_pct=100 * delta / base,
        decided_by=bound.decided_by,
        threshold=bound.value,
        iqr_baseline=range_before,
        iqr_candidate=range_now,
        confirmed=confirmed,
        detectable_pct=100 * bound.value / base,
        stopped_by=stopped,
    )


def _bound(base: float, apart: float, candidate: Measurement, policy: Policy) -> Bound:
    """Return the larger one of the layouts' range and the tolerance; with the literal rule, the range."""
    if policy.rule == "iqr":
        return Bound(apart, "iqr")
    return widest(apart, tolerance_of(candidate, policy) * base, 0.0)


def _rule(candidate: Measurement, base: float, bound: Bound, policy: Policy) -> tuple[Verdict, str | None, bool | None]:
    """Apply the rule: a change beyond the bound is a regression if counting again finds it again."""
    assert candidate.robust is not None
    if beyond(candidate.robust, base, bound.value, -1):
        return "improved", None, None
    if not beyond(candidate.robust, base, bound.value, 1):
        return "within_noise", None, None
    if policy.rule == "iqr" or not policy.confirm:
        return "regressed", None, None
    rows = candidate.confirmation.samples if candidate.confirmation is not None else None
    if not rows:
        return "suspect", "unconfirmed", None
    if beyond(centre_of_layouts(rows)[0], base, bound.value, 1):
        return "regressed", None, True
    return "suspect", "confirm", False


def awaits_recount(comparison: Comparison) -> bool:
    """Return whether counting again would decide a case."""
    return any(change.unit == IR and change.stopped_by == "unconfirmed" for change in comparison.changes)


def disagreement(changes: Sequence[Change]) -> str | None:
    """Explain a disagreement between time and instructions; None if there is none.

    >>> slower = Change(metric="latency", verdict="regressed", delta_pct=12.0)
    >>> same = Change(metric="instructions", verdict="within_noise", unit=IR, delta_pct=0.01)
    >>> disagreement([slower, same])
    'latency is slower by the clock (+12.0 %), with no more instructions (+0.01 %): memory, waiting, or the machine'
    """
    by_name = {change.metric: change for change in changes}
    for change in changes:
        if change.unit != IR or change.delta_pct is None:
            continue
        own = change.metric.partition(".")[2]
        timed = next((by_name[name] for name in _timed_names(own) if name in by_name), None)
        words = _disagreement(timed, change) if timed is not None and timed.delta_pct is not None else None
        if words is not None:
            return words
    return None


def _timed_names(own: str) -> tuple[str, ...]:
    """Return the metrics of time that an `instructions.<own>` may belong to."""
    return (f"{LATENCY}.{own}", own) if own else (LATENCY,)


def _disagreement(timed: Change, counted: Change) -> str | None:
    by_clock = f"({timed.delta_pct:+.1f} %)"
    by_count = f"({counted.delta_pct:+.2f} %)"
    if timed.verdict in {"regressed", "suspect"} and counted.verdict == "within_noise":
        return (
            f"{timed.metric} is slower by the clock {by_clock}, with no more instructions {by_count}: "
            "memory, waiting, or the machine"
        )
    if timed.verdict in {"regressed", "suspect"} and counted.verdict == "improved":
        return (
            f"{timed.metric} is slower by the clock {by_clock}, with fewer instructions {by_count}: "
            "memory, waiting, or the machine"
        )
    if timed.verdict in {"within_noise", "improved"} and counted.verdict == "regressed":
        return (
            f"{counted.metric} has more instructions {by_count}, and {timed.metric} is no slower by the clock "
            f"{by_clock}: the work is hidden by waiting, or too small to be seen in the time"
        )
    return None

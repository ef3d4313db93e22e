"""Combine the results of process starts into a record."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import msgspec

from pytest_devperf.case.digest import Digest
from pytest_devperf.case.fingerprint import FINGERPRINT_DIGITS
from pytest_devperf.measure.round import Round
from pytest_devperf.record.derived import stable_of
from pytest_devperf.record.own_cautions import RunFacts, own_cautions
from pytest_devperf.record.record import Record, SkippedMethod, WorkloadRecord
from pytest_devperf.sensor.run_context import RunContext
from pytest_devperf.sensor.summary import chain_looks, summarise
from pytest_devperf.session.cases.case_state import CaseState, TestOutcome
from pytest_devperf.session.cases.measurements import count_measurements, measurements_of
from pytest_devperf.session.starts.device import is_this_machine, rest_s
from pytest_devperf.session.starts.start import CaseStart

NOT_COUNTABLE = (
    "what runs on another device, measures itself or is measured in turns has no fixed number of instructions"
)
"""Why a workload cannot be counted."""


def record_of(
    state: CaseState,
    starts: Sequence[CaseStart],
    *,
    again: Sequence[CaseStart] = (),
    processes: int,
    busy_cpu_percent: float,
) -> Record:
    """Combine a case's process starts to its record.

    Args:
        state: The case.
        starts: The starts of its first look.
        again: The starts of further looks.
        processes: Process starts planned for its rounds.
        busy_cpu_percent: CPU use before the run above which the host is busy.

    Raises:
        CaseError: The starts contradict each other.
    """
    first = starts[0] if starts else None
    outcome = _outcome(state)
    record = Record(
        id=state.case.id,
        path=state.case.path,
        test=state.case.test,
        suite=state.case.suite,
        sweep=state.case.sweep,
        outcome=outcome.outcome,
        reason=outcome.reason,
        workload=_workload(first, state.unseeded),
    )
    if first is None or not outcome.passed:
        return record
    metrics = (*measurements_of(starts, again), *count_measurements(state.counts))
    main = next((metric for metric in metrics if metric.main), None)
    plan = state.case.plan
    record = msgspec.structs.replace(
        record,
        group=first.group,
        extra_info=first.extra_info,
        run_context=_run_context(starts),
        metrics=metrics,
        skipped_methods=tuple(
            SkippedMethod(method=method, reason=why) for method, why in first.skipped_methods.items()
        ),
        iterations=len(main.samples_ns[0]) if main is not None and main.samples_ns else None,
        processes=processes,
        counting=state.counting if _is_counted(state) else None,
        stable=stable_of(main, plan, rest_s=rest_s(plan, state.target)) if main else None,
    )
    return _with_cautions(state, starts, record, busy_cpu_percent)


def _run_context(starts: Sequence[CaseStart]) -> RunContext:
    """Summarise the context of all starts; the first one also reports facts of its software."""
    context = summarise(
        chain_looks(start.looks for start in starts),
        _rounds(starts),
        prerun=next((start.prerun for start in starts if start.prerun is not None), None),
    )
    return replace(context, env={**context.env, **starts[0].env})


def _outcome(state: CaseState) -> TestOutcome:
    """Return the outcome of a case, before its verdict."""
    if state.problem is not None:
        return TestOutcome("failed", state.problem.what.partition("\n")[0])
    outcome = state.outcome or TestOutcome()
    if not outcome.passed or state.baseline is not None:
        return outcome
    if not state.measured:
        return TestOutcome("skipped", "the test uses the devperf fixture but measures nothing")
    if state.case.plan.count == "only" and not _is_counted(state):
        return TestOutcome("skipped", f"instructions were not counted: {_why_uncounted(state)}")
    return outcome


def _is_counted(state: CaseState) -> bool:
    """Return whether any instructions of a case were counted."""
    return any(start.counts for start in state.counts)


def _workload(first: CaseStart | None, unseeded: Collection[str] = ()) -> WorkloadRecord:
    if first is None:
        return WorkloadRecord(fingerprint="", kind="none")
    work: dict[str, object] = {"works": first.works, "facts": first.facts}
    if unseeded:
        # What differs between starts also differs between runs: only the rest can be the same work.
        same = {name: digest for name, digest in first.digests.items() if name not in unseeded}
        work = {"ways": first.ways, "facts": first.facts, "same": same, "unseeded": sorted(unseeded)}
    return WorkloadRecord(
        fingerprint=Digest().of(work).hex()[:FINGERPRINT_DIGITS],
        kind=first.kind or "none",
        inputs=first.inputs,
        facts=first.facts,
        model_sha256=first.model_sha256,
    )


def _rounds(starts: Sequence[CaseStart]) -> list[Round]:
    return [taken for start in starts for timed in start.timed for taken in timed.start_result.rounds]


def _has_values(start: CaseStart) -> bool:
    """Return whether a start has values that a tracer would have falsified."""
    return bool(start.timed or start.counts)


def _why_uncounted(state: CaseState) -> str | None:
    """Return why instructions of a case were not counted, although they were to be."""
    if state.case.plan.count == "no":
        return None
    reasons = (state.uncounted, *(start.uncounted for start in state.counts))
    reason = next((reason for reason in reasons if reason is not None), None)
    if reason is None and state.starts and not state.starts[0].countable:
        return NOT_COUNTABLE
    if reason is None and not state.counts and state.out_of_time:
        return "the session's budget was spent before"
    return reason


def _with_cautions(state: CaseState, starts: Sequence[CaseStart], record: Record, busy_cpu_percent: float) -> Record:
    first = starts[0]
    main = next((metric for metric in record.metrics if metric.main), None)
    facts = RunFacts(
        kind=first.device.kind if first.device else "host",
        rounds=_rounds(starts),
        instrumented=next(
            (start.instrumented for start in (*starts, *state.counts) if start.instrumented and _has_values(start)),
            None,
        ),
        processes=record.processes if main else None,
        rounds_run=len(main.process) if main else None,
        rounds_planned=main.planned_rounds if main else None,
        ended_early=main is not None and main.stop in {"early-pass", "converged"},
        emulator=bool(getattr(state.target, "emulator", False)),
        debug_build=bool(getattr(state.target, "debuggable", False)),
        quality=record.stable.quality if record.stable else None,
        unseeded=tuple(sorted(name.rpartition(": ")[2] for name in state.unseeded)),
        timed_whole=first.timed_whole,
        not_counted=_why_uncounted(state),
        children_not_counted=any(start.children for start in state.counts),
        uncounted_children=any(start.unseen_children for start in starts),
        shared_process=first.role == "all"
        and state.target is not None
        and is_this_machine(state.target)  # on other devices every start has its own process
        and any(each.metric.kind in {"start", "memory"} for each in first.scalars),
    )
    notes = own_cautions(record.run_context, facts, busy_cpu_percent=busy_cpu_percent)
    return msgspec.structs.replace(record, cautions=tuple(notes), caution_notes=notes)

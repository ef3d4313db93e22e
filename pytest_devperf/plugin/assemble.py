"""From what the process starts gave to the record that is kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from pytest_devperf import stats
from pytest_devperf.case.digest import Digest
from pytest_devperf.case.fingerprint import FINGERPRINT_DIGITS
from pytest_devperf.measure.round import Round, StartResult
from pytest_devperf.metric import LATENCY, Metric, time_metric
from pytest_devperf.plugin.kind import is_this_machine, rest_s
from pytest_devperf.plugin.outcome import is_strict_xpass
from pytest_devperf.plugin.start import CaseStart
from pytest_devperf.record.caution import RunFacts, own_cautions
from pytest_devperf.record.measurement import (
    scalar_measurement,
    series,
    stable_of,
    time_measurement,
    with_confirmation,
)
from pytest_devperf.record.record import DeviceRecord, Measurement, Outcome, Record, SkippedMethod, WorkloadRecord
from pytest_devperf.sensor.summary import chain_looks, summarise

if TYPE_CHECKING:
    import pytest

    from pytest_devperf.plugin.ledger import Entry
    from pytest_devperf.targets.device import Device

STREAM_SERIES = frozenset({"first_item", "per_item"})
"""Series of `devperf.stream` that are metrics by their own names."""


def record_of(entry: Entry, *, busy_cpu_percent: float) -> Record:
    """Put a case's process starts together into its record."""
    first = entry.starts[0] if entry.starts else None
    outcome, reason = _outcome(entry)
    if first is None or outcome != "passed":
        return Record(
            id=entry.case.id,
            path=entry.case.path,
            test=entry.case.test,
            suite=entry.case.suite,
            sweep=entry.case.sweep,
            outcome=outcome,
            reason=reason,
            workload=_workload(first, entry.unseeded),
        )
    metrics = measurements_of(entry.starts, entry.confirming)
    main = next((metric for metric in metrics if metric.main), None)
    record = Record(
        id=entry.case.id,
        path=entry.case.path,
        test=entry.case.test,
        suite=entry.case.suite,
        sweep=entry.case.sweep,
        outcome=outcome,
        workload=_workload(first, entry.unseeded),
        run_context=summarise(
            chain_looks(start.looks for start in entry.starts),
            _rounds(entry.starts),
            prerun=next((start.prerun for start in entry.starts if start.prerun is not None), None),
        ),
        metrics=metrics,
        skipped_methods=tuple(
            SkippedMethod(method=method, reason=why) for method, why in first.skipped_methods.items()
        ),
        iterations=len(main.samples_ns[0]) if main is not None and main.samples_ns else None,
        processes=entry.processes,
        stable=stable_of(main, entry.case.plan, rest_s=rest_s(entry.case.plan, entry.target)) if main else None,
    )
    record = msgspec.structs.replace(
        record, run_context=replace(record.run_context, env={**record.run_context.env, **first.env})
    )
    return _with_cautions(entry, record, busy_cpu_percent)


def _outcome(entry: Entry) -> tuple[Outcome, str | None]:
    """The test's own outcome, and the reason where it did not pass."""
    failed = next((report for report in entry.reports if report.failed and not is_strict_xpass(report)), None)
    if failed is not None:
        return ("failed" if failed.when == "call" else "error"), _reason(failed)
    skipped = next((report for report in entry.reports if report.skipped), None)
    if skipped is not None:
        if hasattr(skipped, "wasxfail"):
            return "skipped", f"failed as expected: {skipped.wasxfail}".rstrip(": ")
        longrepr = skipped.longrepr
        return "skipped", str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr or "") or None
    if not entry.measured and entry.baseline is None:
        return "skipped", "the test uses the devperf fixture but measures nothing"
    return "passed", None


def _reason(report: pytest.TestReport) -> str | None:
    """The first line of what a failed test says."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    return text.strip().partition("\n")[0] or None


def _workload(first: CaseStart | None, unseeded: Collection[str] = ()) -> WorkloadRecord:
    if first is None:
        return WorkloadRecord(fingerprint="", kind="none")
    work: dict[str, object] = {"works": first.works, "facts": first.facts}
    if unseeded:
        # What differs from start to start differs from run to run: only the rest can be the same work.
        same = {name: digest for name, digest in first.digests.items() if name not in unseeded}
        work = {"ways": first.ways, "facts": first.facts, "same": same, "unseeded": sorted(unseeded)}
    return WorkloadRecord(
        fingerprint=Digest().of(work).hex()[:FINGERPRINT_DIGITS],
        kind=first.kind or "none",
        inputs=first.inputs,
        facts=first.facts,
        model_sha256=first.model_sha256,
    )


def measurements_of(starts: Sequence[CaseStart], confirming: Sequence[CaseStart] = ()) -> tuple[Measurement, ...]:
    """Every metric in the order in which the test measured it; the first time is the main one."""
    timed = _by_metric(starts)
    confirmed = _by_metric(confirming)
    measurements = []
    for place, (name, (metric, start_results)) in enumerate(timed.items()):
        measurement = time_measurement(metric, start_results, main=place == 0)
        if confirming:
            measurement = with_confirmation(measurement, confirmed.get(name, (metric, []))[1])
        measurements.append(measurement)
    return (*measurements, *_few_measurements(starts, confirming))


def _by_metric(starts: Sequence[CaseStart]) -> dict[str, tuple[Metric, list[StartResult]]]:
    """Group results by metric; further series of the same rounds become metrics of their own."""
    found: dict[str, tuple[Metric, list[StartResult]]] = {}
    for start in starts:
        for timed in start.timed:
            found.setdefault(timed.metric.name, (timed.metric, []))[1].append(timed.start_result)
    for name, (_, start_results) in list(found.items()):
        also = dict.fromkeys(
            key for start_result in start_results for taken in start_result.rounds for key in taken.also
        )
        for key in also:
            own = key if key in STREAM_SERIES and name == LATENCY else f"{name}.{key}"
            found[own] = (time_metric(own), list(series(start_results, key)))
    return found


def _few_measurements(starts: Sequence[CaseStart], confirming: Sequence[CaseStart]) -> list[Measurement]:
    found: dict[str, list[tuple[int, Metric, list[float], float | None]]] = {}
    for start in starts:
        for scalars in start.scalars:
            found.setdefault(scalars.metric.name, []).append(
                (start.process, scalars.metric, scalars.values, scalars.baseline)
            )
    measurements = []
    for name, rows in found.items():
        baselines = [base for _, _, _, base in rows if base is not None]
        measurement = scalar_measurement(
            rows[0][1],
            [values for _, _, values, _ in rows],
            [process for process, _, _, _ in rows],
            baseline=stats.median(baselines) if baselines else None,
        )
        again = [
            (start.process, scalars.values)
            for start in confirming
            for scalars in start.scalars
            if scalars.metric.name == name
        ]
        if again:
            measurement = with_confirmation(
                measurement, [values for _, values in again], [process for process, _ in again]
            )
        measurements.append(measurement)
    return measurements


def _rounds(starts: Sequence[CaseStart]) -> list[Round]:
    return [taken for start in starts for timed in start.timed for taken in timed.start_result.rounds]


def _with_cautions(entry: Entry, record: Record, busy_cpu_percent: float) -> Record:
    first = entry.starts[0]
    main = next((metric for metric in record.metrics if metric.main), None)
    facts = RunFacts(
        kind=first.device.kind if first.device else "host",
        rounds=_rounds(entry.starts),
        instrumented=next((start.instrumented for start in entry.starts if start.instrumented and start.timed), None),
        processes=entry.processes if main else None,
        rounds_run=len(main.process) if main else None,
        rounds_planned=main.planned_rounds if main else None,
        ended_early=main is not None and main.stop in {"early-pass", "converged"},
        emulator=bool(getattr(entry.target, "emulator", False)),
        debug_build=bool(getattr(entry.target, "debuggable", False)),
        quality=record.stable.quality if record.stable else None,
        unseeded=tuple(sorted(name.rpartition(": ")[2] for name in entry.unseeded)),
        timed_whole=first.timed_whole,
        uncounted_children=any(start.unseen_children for start in entry.starts),
        shared_process=first.role == "all"
        and entry.target is not None
        and is_this_machine(entry.target)  # elsewhere every start has a process of its own
        and any(scalars.metric.kind in {"start", "memory"} for scalars in first.scalars),
    )
    notes = own_cautions(record.run_context, facts, busy_cpu_percent=busy_cpu_percent)
    return msgspec.structs.replace(record, cautions=tuple(notes), caution_notes=notes)


def device_record(device: Device) -> DeviceRecord:
    """A device as it is stored."""
    return DeviceRecord(
        fingerprint=device.fingerprint,
        kind=device.kind,
        manufacturer=device.manufacturer,
        model=device.model,
        soc=device.soc,
        cores=device.cores,
        memory_gib=device.memory_gib,
        abi=device.abi,
        unit=device.unit,
    )

"""Decide whether two measurements of a case are comparable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose

from pytest_devperf.compare.history import Baseline, BaselineRun
from pytest_devperf.compare.policy import Policy
from pytest_devperf.record.caution import CAUTIONS, IMPORTED, refusing
from pytest_devperf.record.record import Measurement, Record
from pytest_devperf.sensor.context import CpuSet
from pytest_devperf.sensor.run_context import RunContext

KHZ_PER_MHZ = 1000

QUOTA_SLACK = 0.01
"""Relative difference of two containers' quotas that is ignored: they are stored in whole microseconds of a period."""

CAP_SLACK = 0.01
"""Relative difference of two frequency caps that is ignored: tables for the same chip are rounded differently."""

UNIT_SHOWN = 6
"""Digits of a unit's hash that a message shows: enough to distinguish the phones on a desk."""

SOFTWARE = {"os": "os-changed", "python": "runtime-changed", "sdk": "runtime-changed", "driver": "runtime-changed"}
"""Facts of `RunContext.env` whose differences are reported, and the caution for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The comparability of a record and its baseline."""

    runs: tuple[BaselineRun, ...] = ()
    """The usable runs, newest first."""
    refusal: str | None = None
    """Why the case is not comparable."""
    cautions: Mapping[str, str] = field(default_factory=dict)
    """Cautions that follow from both sides: slug -> cause."""
    notes: tuple[str, ...] = ()
    """Further differences to report."""


def serving(baseline: Baseline, policy: Policy) -> tuple[tuple[BaselineRun, ...], tuple[str, ...]]:
    """Choose the usable runs of a baseline, independent of the run to compare.

    The newest run without a refusing caution is the reference; older ones are used if they are comparable with it. If
    every run has such a caution, the newest is the reference, and the gate refuses the comparison.

    Returns:
        The runs, newest first, and a sentence for each that was left out.
    """
    if len(baseline.runs) <= 1:
        return baseline.runs, ()
    kind = baseline.device.kind
    clean = [run for run in baseline.runs if not _refused(run.record.cautions, kind, policy)]
    if not clean:
        return baseline.runs[:1], ()
    lead = clean[0]
    kept: list[BaselineRun] = []
    notes: list[str] = []
    for run in baseline.runs:
        reason = None if run is lead else _unlike(run.record, lead.record, kind, policy)
        if reason is None:
            kept.append(run)
        else:
            notes.append(f"baseline run of {run.taken_at} left out: {reason}")
    return tuple(kept), tuple(notes)


def check(record: Record, baseline: Baseline, policy: Policy) -> Gate:
    """Decide whether a record is comparable with its baseline.

    Another device, workload, pin state or number of iterations is never comparable. A refusing caution of either side,
    or of both together, refuses unless it is accepted.
    """
    if not baseline.same_device:
        device = baseline.device
        words = " ".join(word for word in (device.manufacturer, device.model) if word) or device.soc or device.kind
        return Gate(refusal=f"the baseline is from another device ({words}, {device.fingerprint})")
    runs, notes = serving(baseline, policy)
    lead = runs[0].record
    never = unlike(record, lead)
    if never is not None:
        return Gate(runs=runs, refusal=never, notes=notes)
    kind = baseline.device.kind
    cautions = {**_other_unit(runs[0].unit, baseline.unit), **dict(between(record, lead, policy))}
    refused = [
        f"{slug} ({record.caution_notes.get(slug, CAUTIONS[slug].words)})"
        for slug in _refused(record.cautions, kind, policy)
    ]
    refused += [
        f"{slug} in the baseline ({lead.caution_notes.get(slug, CAUTIONS[slug].words)})"
        for slug in _refused(lead.cautions, kind, policy)
    ]
    refused += [f"{slug} ({cautions[slug]})" for slug in _refused(cautions, kind, policy)]
    slugs = _refused((*record.cautions, *lead.cautions, *cautions), kind, policy)
    refusal = f"{', '.join(refused)}: {_remedy(slugs)}" if refused else None
    return Gate(runs=runs, refusal=refusal, cautions=cautions, notes=notes)


def unlike(record: Record, before: Record) -> str | None:
    """Return what makes two records of a case different work, which no option accepts; None if nothing does."""
    # The inputs of an imported side are not known: its caution refuses.
    imported = (record.workload.kind == IMPORTED) != (before.workload.kind == IMPORTED)
    if record.workload.fingerprint != before.workload.fingerprint and not imported:
        return f"the workload differs ({_workload_difference(record, before)})"
    pinned, pinned_before = record.run_context.clock_state.pinned, before.run_context.clock_state.pinned
    if pinned is not None and pinned_before is not None and pinned != pinned_before:
        return (
            f"clocks were {_pinned(pinned_before)} in the baseline and are {_pinned(pinned)} now: "
            f"{_pin_remedy(record, pinned_before)}"
        )
    cpus = unlike_cpus(record, before)
    if cpus is not None:
        return cpus
    now, then = record.iterations, before.iterations
    if now is not None and then is not None and now != then:
        return f"{then} iterations per round in the baseline, {now} now"
    return None


def unlike_cpus(record: Record, before: Record) -> str | None:
    """Return the difference between the CPUs of two records; None if they are alike or not known on one side.

    CPUs with other numbers are alike if they have the same layout, unless the user selected them.
    """
    now, then = record.run_context.cpu_set, before.run_context.cpu_set
    if now is None or then is None:
        return None
    named = any(each.run_context.env.get("affinity") is not None for each in (record, before))
    alike = now.cpus == then.cpus or (not named and now.layout is not None and now.layout == then.layout)
    if alike and isclose(now.usable, then.usable, rel_tol=QUOTA_SLACK):
        return None
    return (
        f"cpu-set: the process could use {_cpus(then, now)} in the baseline and {_cpus(now, then)} now: "
        "measure on as many as the baseline (container limit, taskset, --devperf-affinity), or save a new one"
    )


def _cpus(mine: CpuSet, other: CpuSet) -> str:
    same_number = mine.usable == other.usable and mine.layout and other.layout
    return f"{mine.words}{f', {mine.layout},' if same_number else ''}"


def unlike_metric(measurement: Measurement, before: Measurement) -> str | None:
    """Return what makes two measurements of a metric different work; None if nothing does."""
    if (measurement.unit, measurement.better) != (before.unit, before.better):
        return (
            f"it was {before.unit or 'a bare number'}, {before.better} is better, in the baseline, and is "
            f"{measurement.unit or 'a bare number'}, {measurement.better} is better, now"
        )
    if measurement.kind != "rounds" or before.kind != "rounds":
        return None if measurement.kind == before.kind else f"it was measured as {before.kind} in the baseline"
    now, then = measurement.inner_loops or 1, before.inner_loops or 1
    if now != then:
        return f"{then} inner loops in the baseline, {now} now"
    width, width_before = _iterations(measurement), _iterations(before)
    if width and width_before and width != width_before:
        return f"{width_before} iterations per round in the baseline, {width} now"
    return None


def between(record: Record, before: Record, policy: Policy) -> Iterator[tuple[str, str]]:
    """Return the cautions that follow from both records together."""
    now, then = record.run_context, before.run_context
    yield from _clocks(now, then)
    if now.power_state is not None and then.power_state is not None and now.power_state != then.power_state:
        yield "power-changed", f"{then.power_state} in the baseline, {now.power_state} now"
    if now.temp_start_c is not None and then.temp_start_c is not None:
        apart_c = now.temp_start_c - then.temp_start_c
        if abs(apart_c) > policy.hot_start_c:
            yield "hot-start", f"started at {now.temp_start_c:.1f} °C, the baseline at {then.temp_start_c:.1f} °C"
    yield from _software(record, before)
    unknown = [name for name, here, there in _readings(now, then) if (here is None) != (there is None)]
    if unknown:
        yield "unknown-context", f"{', '.join(unknown)} known on one side only"


def _other_unit(then: str | None, now: str | None) -> dict[str, str]:
    """Distinguish two units that count as one device (`--devperf-identity=model`)."""
    if then is None or now is None or then == now:
        return {}
    return {"other-unit": f"unit {then[:UNIT_SHOWN]} in the baseline, {now[:UNIT_SHOWN]} now"}


def _clocks(now: RunContext, then: RunContext) -> Iterator[tuple[str, str]]:
    """Compare frequency caps: a lower one on either side is another machine."""
    caps, caps_before = now.clock_state.max_khz, then.clock_state.max_khz
    for policy in sorted(caps.keys() & caps_before.keys(), key=lambda name: (len(name), name)):  # policy2, policy10
        here, there = caps[policy], caps_before[policy]
        if abs(here - there) > CAP_SLACK * max(here, there):
            words = f"{policy} at most {here / KHZ_PER_MHZ:.0f} MHz, {there / KHZ_PER_MHZ:.0f} MHz in the baseline"
            yield "clock-capped", words
            return


def _software(record: Record, before: Record) -> Iterator[tuple[str, str]]:
    env, env_before = record.run_context.env, before.run_context.env
    here, there = env.get("ep"), env_before.get("ep")
    changed: dict[str, list[str]] = {}
    if here is not None and there is not None and here != there:
        if env.get("asked_ep") == env_before.get("asked_ep"):
            yield "provider-fell-back", f"{there} in the baseline, {here} now"
        else:  # another provider was requested: that is the change under test
            changed.setdefault("runtime-changed", []).append(f"ep {there} -> {here}")
    for fact, slug in SOFTWARE.items():
        here, there = env.get(fact), env_before.get(fact)
        if here is not None and there is not None and here != there:
            changed.setdefault(slug, []).append(f"{fact} {there} -> {here}")
    for slug, words in changed.items():
        yield slug, ", ".join(words)
    model, model_before = record.workload.model_sha256, before.workload.model_sha256
    if model is not None and model_before is not None and model != model_before:
        yield "model-changed", f"sha256 {model_before[:8]}... -> {model[:8]}..."


def _readings(now: RunContext, then: RunContext) -> Iterator[tuple[str, object, object]]:
    """Return the readings that a comparison depends on, in pairs."""
    yield "start temperature", now.temp_start_c, then.temp_start_c
    yield "throttling", now.throttled, then.throttled
    yield "power state", now.power_state, then.power_state
    yield "pin state", now.clock_state.pinned, then.clock_state.pinned
    yield "CPUs", now.cpu_set, then.cpu_set
    yield "frequency caps", now.clock_state.max_khz or None, then.clock_state.max_khz or None


def _unlike(record: Record, lead: Record, kind: str, policy: Policy) -> str | None:
    """Return why an older run cannot be used together with the reference; None if it can."""
    reason = unlike(record, lead)
    if reason is not None:
        return reason
    slugs = (*record.cautions, *dict(between(record, lead, policy)))
    return ", ".join(_refused(slugs, kind, policy)) or None


def _refused(slugs: Mapping[str, str] | tuple[str, ...], kind: str, policy: Policy) -> tuple[str, ...]:
    return refusing(slugs, kind=kind, strict_context=policy.strict_context, accept=policy.accept) if slugs else ()


def _workload_difference(record: Record, before: Record) -> str:
    """Return which part of the workload differs, as far as its facts show."""
    if record.workload.kind != before.workload.kind:
        return f"{before.workload.kind} -> {record.workload.kind}"
    for word, now, then in (
        ("input", record.workload.inputs, before.workload.inputs),
        ("fact", record.workload.facts, before.workload.facts),
    ):
        parts = [name for name in sorted(now.keys() | then.keys()) if now.get(name) != then.get(name)]
        if parts:
            return f"{word} {', '.join(map(repr, parts))}"
    return f"fingerprint {before.workload.fingerprint} -> {record.workload.fingerprint}"


def _iterations(measurement: Measurement) -> int | None:
    return len(measurement.samples_ns[0]) if measurement.samples_ns else None


def _remedy(slugs: Sequence[str]) -> str:
    """Return the remedy for refusing cautions, and the option to accept them."""
    remedy = dict.fromkeys(CAUTIONS[slug].remedy for slug in slugs if CAUTIONS[slug].remedy)
    accept = f"accept it with --devperf-accept={','.join(dict.fromkeys(slugs))}"
    return "; ".join((*remedy, accept))


def _pin_remedy(record: Record, pinned_before: bool) -> str:  # noqa: FBT001 - the state decides
    """Return how to restore the pin state of the baseline."""
    if not pinned_before:
        return "measure with --devperf-pin-clocks=off, or save a new baseline"
    if "throttled" in record.cautions:
        return "it throttled, let it cool down first, with --devperf-cooldown=auto"
    return "measure with --devperf-pin-clocks=on, or save a new baseline"


def _pinned(state: bool) -> str:  # noqa: FBT001 - the state to format
    return "pinned" if state else "not pinned"

"""A session on a virtual device, from the first process start to the verdict, through the plugin's own words.

What the plugin's passes do with a real device is done here with one made of arithmetic: starts of all
pending cases are interleaved, `run_start` takes the rounds, a baseline gives pace and bound, suspects are
measured again after a cooldown, `compare` judges.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace as with_fields

from benchmarks.verdicts.influences import Kind
from benchmarks.verdicts.machine import Machine, VirtualCase, VirtualClock, VirtualTarget, build
from pytest_devperf import stats
from pytest_devperf.case.plan import Plan, rounds_of_start
from pytest_devperf.case.workload import Command
from pytest_devperf.compare.bound import early_bound_ns, pace_of
from pytest_devperf.compare.compare import compare
from pytest_devperf.compare.history import Baseline, gather
from pytest_devperf.compare.policy import Policy
from pytest_devperf.measure.loop import run_start
from pytest_devperf.measure.round import Round, StartPlan, StartResult
from pytest_devperf.metric import BYTES_PER_MIB, LATENCY, LOAD, PEAK_MEMORY, memory_metric, start_metric, time_metric
from pytest_devperf.record.measurement import scalar_measurement, time_measurement, with_confirmation
from pytest_devperf.record.record import Comparison, DeviceRecord, Measurement, Record, Run, WorkloadRecord
from pytest_devperf.sensor.context import RunContext

CASES = 16
"""Cases of a suite: a table tells how often a whole run of them is wrong."""

FASTEST_NS, SLOWEST_NS = 50e3, 20e6
"""A suite holds calls from 50 us to 20 ms, evenly spread over the orders of magnitude between."""

LOADS_EVERY = 4
"""Every fourth case is a model: it has a load and a peak of memory besides."""

SAVE_STARTS, COMPARE_STARTS, CONFIRM_STARTS = 6, 3, 6
"""The plugin's defaults."""

COOLDOWN_S = 10.0
"""What a host waits before suspects are measured again."""

AWAY_S = 12 * 3600.0
"""Time between two sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is tried: the plugin's policy, and switches of the way there."""

    policy: Policy = field(default_factory=Policy)
    early_pass: bool = True
    confirm_starts: int = CONFIRM_STARTS
    """Process starts of a confirmation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one case in a comparison."""

    case_id: str
    slower: float
    """The truth, as a fraction."""
    comparison: Comparison
    iterations: int
    """Recorded iterations until the verdict, those of a confirmation included."""
    confirmed: bool
    """Whether it was measured a second time."""

    @property
    def failed(self) -> bool:
        """Whether the test fails."""
        return self.comparison.verdict == "regressed"


@dataclass(slots=True, kw_only=True)
class Pending:
    """A case on its way through the passes of one session."""

    case: VirtualCase
    start_results: list[StartResult] = field(default_factory=list)
    loads_ns: list[tuple[float, ...]] = field(default_factory=list)
    peaks_mib: list[tuple[float, ...]] = field(default_factory=list)

    @property
    def rounds(self) -> list[Round]:
        """Every round so far."""
        return [taken for start_result in self.start_results for taken in start_result.rounds]

    @property
    def medians_ns(self) -> tuple[float, ...]:
        """Median of every round so far."""
        return tuple(stats.median(taken.samples_ns) for taken in self.rounds)


@dataclass(slots=True, kw_only=True)
class Bench:
    """A machine with a suite on it."""

    machine: Machine
    cases: tuple[VirtualCase, ...]
    plan: Plan = field(default_factory=Plan)
    saved: int = 0

    def fork(self) -> Bench:
        """Copy it: both copies meet the same future."""
        return Bench(machine=self.machine.fork(), cases=self.cases, plan=self.plan, saved=self.saved)


def suite(seed: int, count: int = CASES) -> tuple[VirtualCase, ...]:
    """Draw the cases of a suite; each feels the machine's slowness more or less than the anchor does."""
    draw = random.Random(f"suite/{seed}")
    step = (SLOWEST_NS / FASTEST_NS) ** (1 / max(1, count - 1))
    return tuple(
        VirtualCase(
            id=f"suite/test_case_{index}.py::test",
            base_ns=FASTEST_NS * step**index * draw.uniform(0.8, 1.25),
            sensitivity=draw.uniform(0.6, 1.2),
            load_ns=draw.uniform(20e6, 200e6) if index % LOADS_EVERY == 0 else None,
            peak_mib=draw.uniform(10, 200),
        )
        for index in range(count)
    )


def bench(kind: Kind, seed: int, count: int = CASES) -> Bench:
    """Set a machine of a kind up with a suite; the same seed gives the same samples."""
    return Bench(machine=build(kind, seed), cases=suite(seed, count))


def save(on: Bench, rules: Rules) -> Run:
    """Run a session that saves: six starts, every round, nothing stops early."""
    on.machine.wake(AWAY_S)
    target = target_of(on, {})
    pending = [Pending(case=case) for case in on.cases]
    _passes(on, target, pending, starts=SAVE_STARTS, baselines={}, rules=rules, confirming=False)
    on.saved += 1
    return _run(target, [record_of(one, target, on.plan, SAVE_STARTS) for one in pending], on.saved)


def measure_fully(on: Bench, slower: Mapping[str, float], starts: int = COMPARE_STARTS) -> tuple[Record, ...]:
    """Run a session without a baseline's help: every round of every case, for rules that know no early pass."""
    on.machine.wake(AWAY_S)
    target = target_of(on, slower)
    pending = [Pending(case=case) for case in on.cases]
    _passes(on, target, pending, starts=starts, baselines={}, rules=Rules(), confirming=False)
    return tuple(record_of(one, target, on.plan, starts) for one in pending)


def compare_session(on: Bench, runs: Sequence[Run], slower: Mapping[str, float], rules: Rules) -> list[Outcome]:
    """Run a session that compares with saved runs, confirmations included.

    Args:
        on: Machine and suite; its state moves on.
        runs: Saved runs of one generation.
        slower: The truth by case id: how much slower it became, as a fraction.
        rules: What is tried.
    """
    on.machine.wake(AWAY_S)
    target = target_of(on, slower)
    pending = [Pending(case=case) for case in on.cases]
    baselines = {case.id: _baseline(runs, case.id, target) for case in on.cases}
    _passes(on, target, pending, starts=COMPARE_STARTS, baselines=baselines, rules=rules, confirming=False)
    records = {one.case.id: record_of(one, target, on.plan, COMPARE_STARTS) for one in pending}
    compared = {name: compare(record, baselines[name], rules.policy) for name, record in records.items()}
    spent = {one.case.id: iterations_of(one) for one in pending}
    suspects = [Pending(case=one.case) for one in pending if compared[one.case.id].awaiting]
    if suspects:
        VirtualClock(on.machine).sleep(COOLDOWN_S)
        _passes(on, target, suspects, starts=rules.confirm_starts, baselines=baselines, rules=rules, confirming=True)
    for one in suspects:
        name = one.case.id
        compared[name] = compare(_confirmed(records[name], one), baselines[name], rules.policy)
        spent[name] += iterations_of(one)
    again = {one.case.id for one in suspects}
    return [
        Outcome(
            case_id=name,
            slower=slower.get(name, 0.0),
            comparison=comparison,
            iterations=spent[name],
            confirmed=name in again,
        )
        for name, comparison in compared.items()
    ]


def target_of(on: Bench, slower: Mapping[str, float]) -> VirtualTarget:
    """Set one version of the suite's code up on the machine."""
    return VirtualTarget(machine=on.machine, cases={case.id: case for case in on.cases}, slower=slower)


def _baseline(runs: Sequence[Run], name: str, target: VirtualTarget) -> Baseline:
    found = gather(runs, name, target.device.fingerprint)
    assert found is not None
    return found


def _passes(
    on: Bench,
    target: VirtualTarget,
    pending: Sequence[Pending],
    *,
    starts: int,
    baselines: Mapping[str, Baseline],
    rules: Rules,
    confirming: bool,
) -> None:
    """Start every pending case once per pass; a case that passed early brings up its load alone."""
    order = list(pending)
    for process in range(starts):
        if process:
            on.machine.draw.shuffle(order)
        for one in order:
            done = bool(one.start_results) and one.start_results[-1].stop == "early-pass"
            if done and one.case.load_ns is None:
                continue
            _start(on, target, one, _start_plan(on, one, process, starts, baselines, rules, confirming=confirming))


def _start_plan(
    on: Bench,
    one: Pending,
    process: int,
    starts: int,
    baselines: Mapping[str, Baseline],
    rules: Rules,
    *,
    confirming: bool,
) -> StartPlan:
    """Say what one start is asked for: by the baseline, else by start 1, else by the plan."""
    baseline = baselines.get(one.case.id)
    plan = on.plan
    pace = pace_of(baseline, LATENCY, rules.policy) if baseline else None
    first = one.start_results[0] if one.start_results else None
    total = first.total_rounds if first else plan.rounds
    bound_ns = None
    if baseline and rules.early_pass:
        bound_ns = early_bound_ns(baseline, LATENCY, rules.policy, plan.rounds, confirming=confirming)
    iterations, inner_loops = pace or ((first.iterations, first.inner_loops) if first else (plan.iterations, None))
    return StartPlan(
        process=process,
        rounds=rounds_of_start(total, starts, process),
        total_rounds=total,
        processes=starts,
        iterations=iterations,
        inner_loops=inner_loops,
        fixed=inner_loops is not None,
        earlier_ns=one.medians_ns,
        bound_ns=bound_ns,
    )


def _start(on: Bench, target: VirtualTarget, one: Pending, start_plan: StartPlan) -> None:
    """Spend one process start on one case."""
    with target.start(Command(argv=(one.case.id,)), start_plan.process) as runner:
        one.start_results.append(run_start(runner, start_plan, on.plan, VirtualClock(on.machine)))
        if runner.load_ns is not None:
            one.loads_ns.append((float(runner.load_ns),))
            memory = runner.memory(on.plan.warmup)
            one.peaks_mib.append(((memory.peak - memory.baseline) / BYTES_PER_MIB,))


def iterations_of(one: Pending) -> int:
    """Count what was recorded."""
    return sum(len(taken.samples_ns) for taken in one.rounds)


def record_of(one: Pending, target: VirtualTarget, plan: Plan, starts: int) -> Record:
    """Put what the starts gave into a record, as the plugin does."""
    metrics: list[Measurement] = [time_measurement(time_metric(LATENCY), one.start_results, main=True)]
    if one.loads_ns:
        index = range(len(one.loads_ns))
        metrics.append(scalar_measurement(start_metric(LOAD), one.loads_ns, index))
        metrics.append(scalar_measurement(memory_metric(PEAK_MEMORY), one.peaks_mib, index, baseline=60.0))
    return Record(
        id=one.case.id,
        workload=WorkloadRecord(fingerprint=one.case.id, kind="command"),
        run_context=RunContext(anchor=target.look().anchor),
        metrics=tuple(metrics),
        iterations=one.start_results[0].iterations if one.start_results else plan.iterations,
        processes=starts,
    )


def _confirmed(record: Record, again: Pending) -> Record:
    """Lay the second look beside every metric of the first."""
    rows: dict[str, list[tuple[float, ...]]] = {LOAD: again.loads_ns, PEAK_MEMORY: again.peaks_mib}
    metrics = tuple(
        with_confirmation(metric, again.start_results)
        if metric.kind == "rounds"
        else with_confirmation(metric, rows[metric.name], range(len(rows[metric.name])))
        for metric in record.metrics
    )
    return with_fields(record, metrics=metrics)


def _run(target: VirtualTarget, records: Sequence[Record], number: int) -> Run:
    """Make a run of a session's records; all saved runs are one generation."""
    device = target.device
    return Run(
        id=f"{number:08x}",
        label="baseline",
        generation="2026-01-01T00:00:00Z",
        taken_at=f"2026-01-{number:02d}T00:00:00Z",
        devperf_version="0",
        device=DeviceRecord(fingerprint=device.fingerprint, kind=device.kind),
        cases=tuple(records),
    )

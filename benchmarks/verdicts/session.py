"""A session on a virtual device, from the first process start to the verdict, with the plugin's own functions.

The steps are those of the plugin with a real device, on one made of arithmetic: starts of all pending cases are
interleaved, `run_start` takes the rounds, a baseline sets pace and bound, `next_of_comparison` returns the next step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from msgspec.structs import replace as with_fields

from benchmarks.verdicts.influences import Kind
from benchmarks.verdicts.machine import Machine, VirtualCase, VirtualClock, VirtualTarget, build
from pytest_devperf.case.plan import Plan, rounds_of_first_look, rounds_of_start
from pytest_devperf.case.workload import Command
from pytest_devperf.compare.compare import compare
from pytest_devperf.compare.history import Baseline, gather
from pytest_devperf.compare.looks import FIRST_STARTS, SAVED_STARTS
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.stopping.bound import early_bound_ns, pace_of
from pytest_devperf.compare.stopping.decision import Judged, MoreStarts, next_of_comparison, next_of_saving
from pytest_devperf.measure.loop import run_start
from pytest_devperf.measure.round import Round, StartPlan, StartResult
from pytest_devperf.measure.undisturbed import earlier_of
from pytest_devperf.metric import BYTES_PER_MIB, LATENCY, LOAD, PEAK_MEMORY, memory_metric, start_metric, time_metric
from pytest_devperf.record.measurement import scalar_measurement, time_measurement, with_confirmation
from pytest_devperf.record.record import Comparison, DeviceRecord, Measurement, Record, Run, WorkloadRecord
from pytest_devperf.sensor.run_context import RunContext

CASES = 16
"""Cases of a suite: a table shows how often a whole run of them is wrong."""

FASTEST_NS, SLOWEST_NS = 50e3, 20e6
"""A suite contains calls from 50 us to 20 ms, evenly spread over the orders of magnitude between."""

LOADS_EVERY = 4
"""Every fourth case is a model: it has a load and a peak of memory besides."""

METRICS_OF_A_LOAD = 2

COOLDOWN_S = 10.0
"""Wait of a host before suspects are measured again."""

AWAY_S = 12 * 3600.0
"""Time between two sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules under test: the plugin's policy, and switches for its steps."""

    policy: Policy = field(default_factory=Policy)
    early_pass: bool = True
    settle: bool = True
    """Whether a suspect that the machine explains ends its first look early."""
    more: bool = True
    """Whether suspects, and saved runs whose starts differ, are given more process starts."""
    saved_starts: int = SAVED_STARTS
    first_starts: int = FIRST_STARTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one case in a comparison."""

    case_id: str
    slower: float
    """The truth, as a fraction."""
    comparison: Comparison
    iterations: int
    """Recorded iterations until the verdict, those of further looks included."""
    starts: int
    """Process starts until the verdict."""
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
    again: list[StartResult] = field(default_factory=list)
    """results of the second look and all later ones."""
    loads_ns: list[tuple[float, ...]] = field(default_factory=list)
    peaks_mib: list[tuple[float, ...]] = field(default_factory=list)
    loads_again: int = 0
    """How many of the loads and peaks belong to later looks."""
    decision: Judged | MoreStarts | None = None
    """What comes after the look that has ended; None: the first one has not."""

    @property
    def rounds(self) -> list[Round]:
        """Every round so far."""
        return [taken for start_result in (*self.start_results, *self.again) for taken in start_result.rounds]

    @property
    def passed_early(self) -> bool:
        """Whether the current look has ended because enough is known."""
        look = self.again or self.start_results
        return bool(look) and look[-1].stop == "early-pass"


@dataclass(slots=True, kw_only=True)
class Bench:
    """A machine with a suite on it."""

    machine: Machine
    cases: tuple[VirtualCase, ...]
    plan: Plan = field(default_factory=Plan)
    saved: int = 0

    def fork(self) -> Bench:
        """Copy it: both copies have the same future."""
        return Bench(machine=self.machine.fork(), cases=self.cases, plan=self.plan, saved=self.saved)

    @property
    def metrics(self) -> int:
        """Metrics that a comparison of the suite judges."""
        return sum(1 if case.load_ns is None else 1 + METRICS_OF_A_LOAD for case in self.cases)


def suite(seed: int, count: int = CASES, felt: tuple[float, float] = (0.6, 1.5)) -> tuple[VirtualCase, ...]:
    """Draw the cases of a suite.

    Args:
        seed: Of the suite.
        count: How many.
        felt: How strongly they feel the machine's slowness, as exponents between these.
    """
    draw = random.Random(f"suite/{seed}")
    step = (SLOWEST_NS / FASTEST_NS) ** (1 / max(1, count - 1))
    return tuple(
        VirtualCase(
            id=f"suite/test_case_{index}.py::test",
            base_ns=FASTEST_NS * step**index * draw.uniform(0.8, 1.25),
            sensitivity=draw.uniform(*felt),
            load_ns=draw.uniform(20e6, 200e6) if index % LOADS_EVERY == 0 else None,
            peak_mib=draw.uniform(10, 200),
        )
        for index in range(count)
    )


def bench(kind: Kind, seed: int, count: int = CASES) -> Bench:
    """Set a machine of a kind up with a suite; the same seed gives the same samples."""
    return Bench(machine=build(kind, seed), cases=suite(seed, count, kind.felt))


@dataclass(frozen=True)
class Session:
    """One session on a bench."""

    on: Bench
    target: VirtualTarget
    rules: Rules
    baselines: Mapping[str, Baseline] = field(default_factory=dict)

    @cached_property
    def policy(self) -> Policy:
        """The policy, with the number of metrics that are judged together."""
        return replace(self.rules.policy, metrics=self.on.metrics)

    def passes(self, pending: Sequence[Pending], starts: int, start_plan: Callable[[Pending, int], StartPlan]) -> None:
        """Start every case once per pass; a case that passed early only loads its workload.

        Args:
            pending: The cases.
            starts: Process starts of each.
            start_plan: What a start is asked for.
        """
        order = list(pending)
        for process in range(starts):
            self.on.machine.draw.shuffle(order)
            for one in order:
                if not (one.decision or one.passed_early) or one.case.load_ns is not None:
                    self._start(one, start_plan(one, process))
                if self.baselines and not one.again:
                    self._settle(one)

    def _settle(self, one: Pending) -> None:
        """End a first look whose suspicion the machine explains."""
        if self.rules.settle and one.decision is None and not one.passed_early:
            decision = self.decide(one)
            over = isinstance(decision, Judged) or decision.role != "first"
            one.decision = decision if over else None

    def _start(self, one: Pending, start_plan: StartPlan) -> None:
        """Spend one process start on one case."""
        asked = replace(start_plan, rounds=0) if one.decision else start_plan
        with self.target.start(Command(argv=(one.case.id,)), start_plan.process) as runner:
            start_result = run_start(runner, asked, self.on.plan, VirtualClock(self.on.machine))
            (
                one.again if start_plan.process >= self.rules.first_starts and self.baselines else one.start_results
            ).append(start_result)
            if runner.load_ns is not None:
                one.loads_ns.append((float(runner.load_ns),))
                memory = runner.memory(self.on.plan.warmup)
                one.peaks_mib.append(((memory.peak - memory.baseline) / BYTES_PER_MIB,))

    def decide(self, one: Pending) -> Judged | MoreStarts:
        """Decide what a case that is compared needs next."""
        plan = replace(self.on.plan, processes=self.rules.first_starts)
        return next_of_comparison(self.record(one), self.baselines[one.case.id], self.policy, plan)

    def compare(self, one: Pending) -> Comparison:
        """Compare a case as it stands."""
        if isinstance(one.decision, Judged):
            return one.decision.comparison
        return compare(self.record(one), self.baselines[one.case.id], self.policy)

    def record(self, one: Pending) -> Record:
        """Combine the starts to a record, as the plugin does."""
        starts = self.rules.first_starts if self.baselines else len(one.start_results)
        record = record_of(one, self.target, self.on.plan, starts)
        return _with_second_look(record, one, starts) if one.again else record

    def saving_share(self, one: Pending, process: int) -> StartPlan:
        """Return the plan of a start of a saved run: from start 1, or from the plan."""
        first = one.start_results[0] if one.start_results else None
        total = first.total_rounds if first else self.on.plan.rounds
        starts = self.rules.saved_starts
        return StartPlan(
            process=process,
            rounds=rounds_of_start(total, starts, process) if process < starts else 1,
            total_rounds=total,
            processes=starts,
            iterations=first.iterations if first else self.on.plan.iterations,
            inner_loops=first.inner_loops if first else None,
            fixed=first is not None,
            earlier=earlier_of(one.start_results),
        )

    def first_plan(self, one: Pending, process: int) -> StartPlan:
        """Return the plan of a start of the first look."""
        starts = self.rules.first_starts
        rounds = rounds_of_first_look(self.on.plan.rounds, starts, process)
        return self._start_plan(one, process, rounds=rounds, look=one.start_results, confirming=False)

    def further_share(self, one: Pending, process: int, rounds: int) -> StartPlan:
        """Return the plan of a start of a later look."""
        number = self.rules.first_starts + len(one.again)
        return self._start_plan(one, max(number, process), rounds=rounds, look=one.again, confirming=True)

    def _start_plan(
        self, one: Pending, process: int, *, rounds: int, look: Sequence[StartResult], confirming: bool
    ) -> StartPlan:
        baseline, plan = self.baselines[one.case.id], self.on.plan
        iterations, inner_loops = pace_of(baseline, LATENCY, self.policy) or (plan.iterations, None)
        bound_ns = None
        if self.rules.early_pass:
            starts = self.rules.first_starts
            bound_ns = early_bound_ns(baseline, LATENCY, self.policy, plan.rounds, starts=starts, confirming=confirming)
        return StartPlan(
            process=process,
            rounds=rounds,
            total_rounds=plan.rounds,
            processes=self.rules.first_starts,
            iterations=iterations,
            inner_loops=inner_loops,
            fixed=inner_loops is not None,
            earlier=earlier_of(look),
            bound_ns=bound_ns,
        )


def save(on: Bench, rules: Rules) -> Run:
    """Run a session that saves: every round, nothing stops early, more starts if they differ."""
    on.machine.wake(AWAY_S)
    session = Session(on, target_of(on, {}), rules)
    pending = [Pending(case=case) for case in on.cases]
    session.passes(pending, rules.saved_starts, session.saving_share)
    while rules.more:
        plan = replace(on.plan, processes=rules.saved_starts)
        decisions = [(one, next_of_saving(session.record(one), session.policy, plan)) for one in pending]
        starts_wanted = {id(one): len(more.rounds) for one, more in decisions if isinstance(more, MoreStarts)}
        if not starts_wanted:
            break
        unsettled = [one for one in pending if id(one) in starts_wanted]
        starts = max(starts_wanted.values())
        session.passes(unsettled, starts, lambda one, _: session.saving_share(one, len(one.start_results)))
    on.saved += 1
    return run_of(session.target, [session.record(one) for one in pending], on.saved)


def measure_fully(on: Bench, slower: Mapping[str, float], starts: int = FIRST_STARTS) -> tuple[Record, ...]:
    """Run a session without a baseline: every round of every case, for rules without an early pass."""
    on.machine.wake(AWAY_S)
    session = Session(on, target_of(on, slower), Rules(saved_starts=starts))
    pending = [Pending(case=case) for case in on.cases]
    session.passes(pending, starts, session.saving_share)
    return tuple(session.record(one) for one in pending)


def compare_session(on: Bench, runs: Sequence[Run], slower: Mapping[str, float], rules: Rules) -> list[Outcome]:
    """Run a session that compares with saved runs, with as many looks as are needed.

    Args:
        on: Machine and suite; its state moves on.
        runs: Saved runs of one generation.
        slower: The truth by case id: how much slower it became, as a fraction.
        rules: What is tried.
    """
    on.machine.wake(AWAY_S)
    target = target_of(on, slower)
    session = Session(on, target, rules, {case.id: _baseline(runs, case.id, target) for case in on.cases})
    pending = [Pending(case=case) for case in on.cases]
    session.passes(pending, rules.first_starts, session.first_plan)
    for one in pending:
        one.decision = session.decide(one)
    confirm(session, pending)
    return [outcome_of(one, session.compare(one), slower.get(one.case.id, 0.0)) for one in pending]


def confirm(session: Session, pending: Sequence[Pending]) -> None:
    """Measure suspects again until nothing more would change their verdicts."""
    waited = False
    while True:
        asked = [(one, one.decision) for one in pending if isinstance(one.decision, MoreStarts)]
        wanted = [(one, more) for one, more in asked if session.rules.more or not one.again]
        if not wanted:
            return
        if not waited:
            VirtualClock(session.on.machine).sleep(COOLDOWN_S)
            waited = True
        _look_again(session, wanted)


def _look_again(session: Session, wanted: Sequence[tuple[Pending, MoreStarts]]) -> None:
    rounds = {id(one): more.rounds[0] for one, more in wanted}
    for one, _ in wanted:
        one.decision = None
        one.loads_again = one.loads_again or len(one.loads_ns)
    starts = max(len(more.rounds) for _, more in wanted)
    session.passes([one for one, _ in wanted], starts, lambda one, _: session.further_share(one, 0, rounds[id(one)]))
    for one, _ in wanted:
        one.decision = session.decide(one)


def outcome_of(one: Pending, comparison: Comparison, slower: float) -> Outcome:
    """Summarise the result of a case."""
    taken = (*one.start_results, *one.again)
    return Outcome(
        case_id=one.case.id,
        slower=slower,
        comparison=comparison,
        iterations=iterations_of(one),
        starts=sum(bool(start_result.rounds) for start_result in taken),
        confirmed=bool(one.again),
    )


def target_of(on: Bench, slower: Mapping[str, float]) -> VirtualTarget:
    """Load one version of the suite's code on the machine."""
    return VirtualTarget(machine=on.machine, cases={case.id: case for case in on.cases}, slower=slower)


def _baseline(runs: Sequence[Run], name: str, target: VirtualTarget) -> Baseline:
    found = gather(runs, name, target.device.fingerprint)
    assert found is not None
    return found


def iterations_of(one: Pending) -> int:
    """Count what was recorded."""
    return sum(len(taken.samples_ns) for taken in one.rounds)


def record_of(one: Pending, target: VirtualTarget, plan: Plan, starts: int) -> Record:
    """Combine the starts of the first look to a record, as the plugin does."""
    metrics: list[Measurement] = [time_measurement(time_metric(LATENCY), one.start_results, main=True)]
    first = slice(one.loads_again or None)
    if one.loads_ns:
        index = range(len(one.loads_ns[first]))
        metrics.append(scalar_measurement(start_metric(LOAD), one.loads_ns[first], index))
        metrics.append(scalar_measurement(memory_metric(PEAK_MEMORY), one.peaks_mib[first], index, baseline=60.0))
    return Record(
        id=one.case.id,
        workload=WorkloadRecord(fingerprint=one.case.id, kind="command"),
        run_context=RunContext(anchor=target.look().anchor),
        metrics=tuple(metrics),
        iterations=one.start_results[0].iterations if one.start_results else plan.iterations,
        processes=starts,
    )


def _with_second_look(record: Record, one: Pending, starts: int) -> Record:
    """Add the second look, and all later ones, to every metric of the first."""
    later = slice(one.loads_again, None)
    rows: dict[str, list[tuple[float, ...]]] = {LOAD: one.loads_ns[later], PEAK_MEMORY: one.peaks_mib[later]}
    metrics = tuple(
        with_confirmation(metric, one.again)
        if metric.kind == "rounds"
        else with_confirmation(metric, rows[metric.name], range(starts, starts + len(rows[metric.name])))
        for metric in record.metrics
    )
    return with_fields(record, metrics=metrics)


def run_of(target: VirtualTarget, records: Sequence[Record], number: int) -> Run:
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

"""A measuring session driven without pytest: plain functions as cases, on a device and a clock made of arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_devperf.case.case import Case
from pytest_devperf.case.workload import Call
from pytest_devperf.errors import DevperfError, TargetError
from pytest_devperf.report.report import Report
from pytest_devperf.sensor.context import Context
from pytest_devperf.session.budget import budget_of
from pytest_devperf.session.cases.case_state import CaseState, TestAddress, TestOutcome
from pytest_devperf.session.devices.targets import SessionTargets
from pytest_devperf.session.kept.baselines import Baselines
from pytest_devperf.session.kept.outputs import Outputs
from pytest_devperf.session.kept.results import Results
from pytest_devperf.session.kept.storage import Storage
from pytest_devperf.session.launch.handover import Surroundings
from pytest_devperf.session.launch.interpreter import CommandLine
from pytest_devperf.session.log.recorder import LogFolder, open_log
from pytest_devperf.session.log.resumption import Resumption
from pytest_devperf.session.modes.mode import Mode
from pytest_devperf.session.modes.repetitions import Repetitions
from pytest_devperf.session.modes.saved_runs import SavedRuns
from pytest_devperf.session.options.scope import Collected
from pytest_devperf.session.options.settings import Settings, plan_of
from pytest_devperf.session.running.interpreters import Interpreters
from pytest_devperf.session.running.launchers import Launchers
from pytest_devperf.session.session import Session
from pytest_devperf.session.starts.meters.timing import Meter
from pytest_devperf.targets.device import Device

Test = Callable[[Meter], object]
"""What a test does with its meter."""

MS = 1_000_000


def fast() -> None: ...
def slow() -> None: ...


def times_fast(meter: Meter) -> None:
    meter.time("latency", Call(function=fast))


def times_slow(meter: Meter) -> None:
    meter.time("latency", Call(function=slow))


TWO: Mapping[str, Test] = {"a::fast": times_fast, "a::slow": times_slow}
SPEED = {"fast": MS, "slow": 5 * MS}
"""Two cases, and how long their functions take in ns."""


class VirtualClock:
    def __init__(self) -> None:
        self.ns = 0

    def now_ns(self) -> int:
        self.ns += 100
        return self.ns

    def sleep(self, seconds: float) -> None:
        self.ns += int(seconds * 1e9)


class VirtualTarget:
    """A device on which `takes_ns` sets the durations of functions, by their names."""

    def __init__(self, clock: VirtualClock, takes_ns: Mapping[str, int], model: str = "one", **seen: Any) -> None:
        self.clock = clock
        self.takes_ns = takes_ns
        self.seen = seen
        self.device = Device(kind="virtual", model=model, cores=8, memory_gib=8)
        self.started: list[tuple[str, int]] = []
        """Name of the function and index of every process start, in order."""
        self.dies_at: int | None = None
        """How many process starts there are before the session is killed; None: it is not."""
        self.lost_at: int | None = None
        """How many process starts there are before the device goes away; None: it stays."""

    def look(self) -> Context:
        return Context(at_ns=self.clock.now_ns(), anchor="virtual", **self.seen)

    @contextmanager
    def start(self, workload: Call, process: int) -> Iterator[VirtualRunner]:
        name = workload.function.__name__
        if len(self.started) == self.dies_at:
            raise Killed
        if self.lost_at is not None and len(self.started) >= self.lost_at:
            raise TargetError("the device went away", "connect it again")
        self.started.append((name, process))
        workload.function(*workload.args, **workload.kwargs)
        base_ns = self.takes_ns.get(f"{name}@{process}", self.takes_ns[name])
        yield VirtualRunner(self.clock, base_ns, process, self.takes_ns.get("anchor", 50_000))


class Killed(BaseException):
    """Stands for the end of a process: nothing in it runs any more."""


class VirtualRunner:
    load_ns = None

    def __init__(self, clock: VirtualClock, base_ns: int, process: int, anchor_ns: int) -> None:
        self._clock = clock
        self._anchor_ns = anchor_ns
        self._base_ns = base_ns * (1 + (0, 2, 1, 3, 1, 0, 2)[process % 7] / 1000)
        self._wobble = itertools.cycle((0, 1, 2, 3, 4))

    def run(self, iterations: int, inner_loops: int) -> list[int]:
        samples = [round(self._base_ns * (1 + next(self._wobble) / 500)) for _ in range(iterations)]
        self._clock.ns += sum(samples)
        return samples

    def anchor(self) -> int:
        return self._anchor_ns + next(self._wobble)

    def memory(self, iterations: int) -> None:
        return None


@dataclass
class Services:
    made: VirtualTarget

    def clock(self) -> VirtualClock:
        return self.made.clock

    def make_target(self, spec: str) -> VirtualTarget | None:
        return self.made if spec == "virtual" else None

    def sensors(self, target: object) -> list[Any]:
        return []

    def prepare_simulated(self, phone: object) -> None: ...


@dataclass
class Reporter:
    concluded: list[CaseState] = field(default_factory=list)
    outcomes: dict[str, TestOutcome] = field(default_factory=dict)
    """What start 1 of each case came to."""

    def write_first(self, state: CaseState) -> Sequence[Mapping[str, Any]]:
        outcome = self.outcomes[state.case.id]
        return [{"outcome": outcome.outcome, "reason": outcome.reason}]

    def restore_first(self, state: CaseState, reports: Sequence[Mapping[str, Any]]) -> TestOutcome:
        return TestOutcome(**reports[0])

    def read_outcome(self, reports: Sequence[object]) -> TestOutcome:
        return TestOutcome()

    def take_reports(self, state: CaseState, reports: Sequence[object], words: str) -> TestOutcome:
        return TestOutcome()

    def add_app_case(self, host: CaseState, state: CaseState, report: object) -> TestOutcome:
        raise NotImplementedError

    def conclude(self, state: CaseState) -> None:
        self.concluded.append(state)

    def conclude_host(self, state: CaseState) -> None:
        raise NotImplementedError


@dataclass
class Display:
    stages: list[str] = field(default_factory=list)
    announced: list[str] = field(default_factory=list)

    def stage(self, words: str, cases: int, *, first: int = 1) -> None:
        self.stages.append(words)

    def announce(self, sentence: str) -> None:
        self.announced.append(sentence)

    def measuring(self, case: Case) -> None: ...
    def idle(self) -> None: ...
    def round_done(self, taken: object) -> None: ...
    def cooling(self, step: object) -> None: ...
    def clear(self) -> None: ...


@dataclass
class Driven:
    """What a session came to."""

    session: Session
    target: VirtualTarget
    reporter: Reporter
    display: Display
    gates: int
    """How many gates did not hold."""

    @property
    def states(self) -> dict[str, CaseState]:
        return {state.case.id: state for state in self.session.states}

    @property
    def report(self) -> Report:
        return self.session.results.report(self.session.states)

    def verdict(self, case_id: str) -> str | None:
        comparison = self.states[case_id].comparison
        return comparison.verdict if comparison is not None else None


def drive(
    tests: Mapping[str, Test],
    folder: Path,
    *,
    takes_ns: Mapping[str, int],
    mode: Callable[[Settings], Mode] | None = None,
    plan: Mapping[str, Any] | None = None,
    dies_at: int | None = None,
    lost_at: int | None = None,
    device: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Driven:
    """Run a whole session on a virtual device.

    Args:
        tests: What the test of each case does, by the case's id.
        folder: Where the store is.
        takes_ns: How long functions take by their names; `name@2` in the process start of index 2 alone.
        mode: The mode of the session; None: that of its settings.
        plan: Fields of the plan, as if they were typed.
        dies_at: How many process starts there are before the session is killed; None: it is not.
        lost_at: How many process starts there are before the device goes away; None: it stays.
        device: Facts and readings of the device.
        **settings: Fields of the settings.
    """
    asked = Settings(target="virtual", plan_cli={"cooldown": "off", "seed": 7, **(plan or {})}, **settings)
    services = Services(VirtualTarget(VirtualClock(), takes_ns, **(device or {})))
    services.made.dies_at, services.made.lost_at = dies_at, lost_at
    targets = SessionTargets(asked.target, services)
    storage = Storage(folder, folder, None, "0", lambda _: None)
    base = plan_of(asked, {}, seed=7)
    reporter, display = Reporter(), Display()
    logs = LogFolder(path=folder / "logs", make=lambda: (folder / "logs").mkdir(exist_ok=True), root=folder)
    log = open_log(logs, resume=asked.resume, seed=7, shuffle_seed=lambda: None, warn=display.announce)
    session = Session(
        settings=asked,
        plan=base,
        mode=(mode or _mode)(asked),
        targets=targets,
        baselines=Baselines(asked, storage, lambda: [targets.session_target().device]),
        results=Results(asked, storage, targets, base, Outputs(asked, folder), log.name),
        launchers=Launchers(
            targets=targets,
            interpreters=Interpreters(
                command_line=lambda: CommandLine(args=(), folder=folder),
                surroundings=Surroundings(),
                seed=7,
                display=display,
            ),
            display=display,
            plan=base,
            prefixes={},
        ),
        resumption=Resumption(log=log),
        reporter=reporter,
        display=display,
        budget=budget_of(asked),
    )
    try:
        gates = _run(session, tests, reporter)
    finally:
        log.close()
    return Driven(session, services.made, reporter, display, gates)


def _run(session: Session, tests: Mapping[str, Test], reporter: Reporter) -> int:
    session.prepare([(case, TestAddress(path="test.py", nodeid=case.id)) for case in _cases(session, tests)])
    for state, test in zip(list(session.states), tests.values(), strict=True):
        if session.restore(state):
            continue
        meter = session.begin(state)
        outcome = reporter.outcomes[state.case.id] = _outcome(test, meter)
        session.end(state, meter, outcome)
    session.finish()
    return session.close(Collected(ids=frozenset(tests)))


def _cases(session: Session, tests: Mapping[str, Test]) -> list[Case]:
    return [Case(id=name, plan=session.plan, named=frozenset(session.settings.plan_cli)) for name in tests]


def _mode(settings: Settings) -> Mode:
    return Repetitions(settings, settings.aa) if settings.aa else SavedRuns(settings, lambda *_: None)


def _outcome(test: Test, meter: Meter) -> TestOutcome:
    try:
        test(meter)
        meter.finish()
    except DevperfError as error:
        meter.lost_device = isinstance(error, TargetError)
        return TestOutcome("failed", str(error))
    return TestOutcome()

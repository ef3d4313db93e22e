"""The state of one process start of one case, and the measurements made on a loaded workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import Protocol

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import MIN_ITERATIONS
from pytest_devperf.case.workload import Call, Repeats, Workload
from pytest_devperf.measure.loop import RoundHooks, measure_start
from pytest_devperf.measure.round import Round
from pytest_devperf.metric import LONGEST_S, Metric
from pytest_devperf.sensor.context import Context
from pytest_devperf.session.starts.device import is_phone, is_this_machine, rest_s
from pytest_devperf.session.starts.notes import StartNotes
from pytest_devperf.session.starts.orders import Orders
from pytest_devperf.session.starts.start import CaseStart
from pytest_devperf.targets.awaited import AnyRunner, run_now, run_timed
from pytest_devperf.targets.protocol import Clock, Profiling, Target

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.

TargetFor = Callable[[Workload], Target]
"""Chooses the device of a workload."""

CoolAgain = Callable[[Target], bool]
"""Lets a device cool that throttled in a round; False if the round is kept as it is."""


class OtherCode(Protocol):
    """The old code of a session that measures in turns (`--devperf-against`)."""

    @property
    def words(self) -> str:
        """Description for users."""
        ...

    def pushed(self, workload: Workload) -> tuple[Workload, Workload] | None:
        """Return both sides of a workload on a device that files are pushed to; None if only its Python is old."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The tools for measuring every case of a session."""

    clock: Clock
    prefixes: Mapping[str, str]
    """Folders that differ between machines and runs, and their placeholders in a workload's hash."""
    use_anchor: bool = True
    look: Callable[[Target], Context] = lambda target: target.look()
    """Reads a device's sensors before and after a process start, those of plugins included."""
    on_round: Callable[[Round], None] = lambda _: None
    """Called after each round."""
    old_code: OtherCode | None = None
    """The code to measure in turns with."""


class Probe(Protocol):
    """A measurement of a test that can be repeated without the test.

    Targets that start their own processes (a phone, a virtual device) do not need the test for later starts.
    """

    def repeat(self, bench: Bench, target: Target) -> None:
        """Measure again, in another process start."""
        ...


class Bench:
    """One process start of one case: its orders, its device and its notes."""

    def __init__(
        self, case: Case, orders: Orders, target_for: TargetFor, tools: Tools, cool_again: CoolAgain | None = None
    ) -> None:
        """Begin a process start.

        Args:
            case: The case.
            orders: The instructions for this start.
            target_for: Chooses the device of a workload.
            tools: The tools of the session.
            cool_again: Lets a device cool that throttled in a round; None: no round is taken again.
        """
        self.case = case
        self.orders = orders
        self.notes = StartNotes(case, orders.process, orders.role, tools.prefixes, tools.look)
        self.probes: list[Probe] = []
        """The measurements so far, so that they can be repeated."""
        self.tools = tools
        self.target_for = target_for
        self._cool_again = cool_again

    @property
    def start(self) -> CaseStart:
        """The result of this start so far."""
        return self.notes.start

    @property
    def takes_rounds(self) -> bool:
        """Whether this start measures timed rounds."""
        return self.orders.role != "solo"

    @property
    def takes_scalars(self) -> bool:
        """Whether this start measures loads and memory."""
        return self.orders.role in {"solo", "all"}

    def enter(self, workload: Workload, name: str) -> Target:
        """Choose a workload's device, and record it."""
        target = self.target_for(workload)
        self.notes.enter(workload, name, target)
        return target

    async def take_rounds(self, runner: AnyRunner, metric: Metric, repeats: Repeats | None = None) -> None:
        """Take the rounds of a metric that are asked of this start, if any are.

        Args:
            runner: The workload.
            metric: What it is measured as.
            repeats: How often the test has it called; None: the plan decides.
        """
        self.notes.add_software(runner)
        self.start.explainable = self.start.explainable or isinstance(runner, Profiling)
        if not self.takes_rounds:
            return
        self.notes.claim(metric.name)
        if self.orders.role == "profile":
            await self._take_profile(runner, metric)
            return
        start_plan, plan = self.orders.start_plan(metric.name), self.case.plan
        if repeats is not None:
            start_plan = start_plan.repeating(repeats)
            plan = replace(plan, warmup=0, max_time=LONGEST_S)
            self.start.narrow = start_plan.iterations < MIN_ITERATIONS
            if repeats.warmup:
                await run_timed(runner, repeats.warmup, repeats.inner_loops)
        start_result = await measure_start(runner, start_plan, plan, self.tools.clock, self.round_hooks())
        self.notes.add_result(metric, start_result)

    async def _take_profile(self, runner: AnyRunner, metric: Metric) -> None:
        """Look where the time of a metric goes, if that is asked of this start and the runner knows."""
        start_plan = self.orders.start_plan(metric.name)
        if start_plan.rounds and isinstance(runner, Profiling):
            given = runner.profile(metric.name, start_plan.iterations)
            self.start.profiles.append(await given if isawaitable(given) else given)

    async def take_memory_of_call(self, runner: AnyRunner) -> None:
        """Measure the memory of a call, if this start measures memory and the test requests it."""
        if self.takes_scalars and self.case.memory:
            taken = runner.memory(MIN_ITERATIONS)
            self.notes.add_memory(await taken if isawaitable(taken) else taken)

    def round_hooks(self) -> RoundHooks:
        """Return the rest before each round, the callbacks, and whether a round is taken again."""
        target = self.notes.target
        return RoundHooks(
            rest_s=rest_s(self.case.plan, target),
            use_anchor=self.tools.use_anchor,
            look=self.notes.look_between if target is not None and is_this_machine(target) else None,
            on_round=self.tools.on_round,
            redo=self._redo if is_phone(target) else None,
        )

    def _redo(self, taken: Round) -> bool:
        """Take a round in which a phone throttled again, once the phone has cooled down."""
        target = self.notes.target
        if not taken.throttled or target is None or self._cool_again is None:
            return False
        return self._cool_again(target)


def repeats_of(workload: Workload) -> Repeats | None:
    """Return how often the test has a workload called; None if the plan decides."""
    return workload.repeats if isinstance(workload, Call) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedProbe:
    """A workload that was timed as a metric."""

    metric: Metric
    workload: Workload

    def repeat(self, bench: Bench, target: Target) -> None:
        """Measure again, in another process start."""
        bench.notes.target = target
        if not bench.takes_rounds and not bench.notes.wants_memory(self.workload):
            return
        with target.start(self.workload, bench.orders.process) as runner:
            run_now(bench.take_rounds(runner, self.metric, repeats_of(self.workload)))
            if isinstance(self.workload, Call):
                run_now(bench.take_memory_of_call(runner))

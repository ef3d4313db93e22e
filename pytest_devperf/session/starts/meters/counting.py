"""Count the instructions of the calls of the fixture, in one process start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_devperf.case.function import refuse_unfinished
from pytest_devperf.case.workload import App, Call, Command, Model, Workload
from pytest_devperf.count.counter import Count
from pytest_devperf.count.pace import Pace
from pytest_devperf.count.program import count_program
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.metric import EXECUTE, LATENCY, LOAD, Better, Metric, count_metric
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.meters.bench import Bench
from pytest_devperf.session.starts.meters.guard import Guard
from pytest_devperf.session.starts.start import Counts
from pytest_devperf.targets.awaited import result_of, run_now
from pytest_devperf.targets.host.event_loop import run_in_loop
from pytest_devperf.targets.host.once import await_once, call_once, is_awaited, refuse_used_up
from pytest_devperf.targets.protocol import Runner, Surveying, Target
from pytest_devperf.targets.survey import Survey

if TYPE_CHECKING:
    from pytest_devperf.count.counter import Counter
    from pytest_devperf.count.valgrind import Valgrind
    from pytest_devperf.session.starts.meters.timing import Meter

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception goes from the test to where it was raised.

AnyMeter: TypeAlias = "Meter | CountMeter"
"""What measures the calls of the fixture in a session that measures."""

ONE_THREAD: Mapping[str, Mapping[str, Any]] = {
    ".onnx": {"intra_op_num_threads": 1, "inter_op_num_threads": 1},
    ".tflite": {"num_threads": 1},
}
"""Session options by the suffix of a model: threads that wait for each other count a random time, up to 3 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """What a process start counts with."""

    counter: Counter
    valgrind: Valgrind
    paces: Mapping[str, Pace] = field(default_factory=dict)
    """How metrics are counted, if they are to be compared."""
    seed: int = 0
    """Of the memory layout."""


class CountMeter:
    """Counts the calls of the fixture; without valgrind it makes each of them once.

    In a session that measures no time, start 1 runs so: it shows whether a test passes and what its workload is.
    """

    app_launch = None
    lost_device = False

    def __init__(self, bench: Bench, counting: Counting | None = None) -> None:
        """Begin a process start.

        Args:
            bench: The process start.
            counting: What counts; None: nothing is counted.
        """
        self.bench = bench
        self._counting = counting
        self._guard = Guard(bench.case.id)
        self._loaded = False

    # -- what a test asks for -------------------------------------------------------------------

    def time(self, name: str, call: Call) -> Any:  # noqa: ANN401 - whatever the call returns
        """Count a call, and return the result of its first, uncounted call."""
        if is_awaited(call):
            return run_in_loop(lambda: self.time_awaited(name, call))
        with self._guard.alone(name), self._guard.unbroken(name):
            self._enter(call, name)
            result = call_once(call)
            refuse_used_up(call)
            run_now(self._count(name, call))
        return result

    async def time_awaited(self, name: str, call: Call) -> Any:  # noqa: ANN401 - whatever the call returns
        """Count a coroutine function, or an asynchronous stream, inside the running loop."""
        with self._guard.alone(name), self._guard.unbroken(name):
            self._enter(call, name)
            result = await await_once(call)
            refuse_used_up(call)
            await self._count(name, call)
        return result

    def load(self, factory: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Bring an object up, and count further loads."""
        if self._loaded:
            raise CaseError(
                f"{self.bench.case.id}: devperf.load was called twice in one test", "load both objects in one function"
            )
        self._loaded = True
        call = Call(function=factory, args=args, kwargs=kwargs)
        self._enter(call, LOAD)
        made = factory(*args, **kwargs)
        refuse_unfinished(factory, made)
        run_now(self._count(LOAD, call))
        return made

    def model(self, model: Model) -> Any:  # noqa: ANN401 - outputs by name
        """Count a model's methods, on one thread unless the test names another number."""
        notes, target = self.bench.notes, self._enter(model, EXECUTE)
        survey = target.survey(model) if isinstance(target, Surveying) else Survey()
        notes.add_survey(survey)
        notes.add_work(EXECUTE, model)
        outputs = None
        for method in survey.methods:
            with target.start(_on_one_thread(replace(model, method=method)), self.bench.orders.process) as runner:
                outputs = result_of(runner)
                run_now(self._count(f"{EXECUTE}.{method}", _execution(runner)))
        return outputs

    def command(self, command: Command) -> None:
        """Count a whole program, with everything that it starts."""
        from pytest_devperf.targets.host.program.runner import CommandRunner

        bench = self.bench
        target = self._enter(command, LATENCY)
        if not bench.start.countable:
            raise Unsupported(
                f"{Path(command.argv[0]).name} measures itself, so how much it does is not fixed",
                'instructions are counted of programs with read="time"',
            )
        bench.start.timed_whole = command.is_timed
        with target.start(command, bench.orders.process) as runner:
            assert isinstance(runner, CommandRunner)
            if self._counting is None:
                runner.start_changed(lambda invocation: invocation)
                return
            instructions = count_program(runner.start_changed, self._counting.valgrind, self._counting.seed)
        self._keep(LATENCY, Count(pace=Pace(loops=1, repetitions=1), instructions=(instructions,)))

    def paired(self, old: Workload, new: Workload) -> Any:  # noqa: ANN401, ARG002 - as the other meter
        """Refuse to count what is measured in turns.

        Raises:
            Unsupported: Always.
        """
        raise Unsupported("devperf.paired measures time in turns, and its instructions are not counted")

    def app(self, app: App) -> tuple[str, ...]:
        """Refuse to count an app.

        Raises:
            Unsupported: Always.
        """
        raise Unsupported(f"app {app.id} runs on a phone, where instructions are not counted")

    def record(self, name: str, value: float, *, unit: str, better: Better) -> None:
        """Keep nothing: what a test finds out itself may be a time, which valgrind slows down."""

    def state(self, facts: Mapping[str, Any]) -> None:
        """Write down facts of the work done."""
        self.bench.notes.add_facts(facts)

    def give_up(self, reason: str) -> None:
        """Write down why the target cannot run what the test asks for."""
        self.bench.start.unsupported = reason

    def finish(self) -> None:
        """Refuse a test that caught the exception of a measurement; read the sensors for the last time."""
        self._guard.refuse_broken()
        if self._counting is not None and self.bench.start.kind != "command":
            self.bench.start.children = _had_children()
        if self.bench.notes.target is not None:
            self.bench.notes.finish()

    # -- how ------------------------------------------------------------------------------------

    def _enter(self, workload: Workload, name: str) -> Target:
        target = self.bench.enter(workload, name)
        if not is_this_machine(target):
            raise Unsupported(f"instructions are counted on this machine, not on {target.device.name}")
        return target

    async def _count(self, name: str, call: Call) -> None:
        counting, case = self._counting, self.bench.case
        if counting is None:
            return
        if call.repeats is not None:
            self.bench.start.uncounted = "the test itself sets how often its call is made, and counting needs more"
            return
        pace = counting.paces.get(count_metric(name).name)
        try:
            count = await counting.counter.count(call, pace, budget_s=case.plan.max_time)
        except Unsupported as slow:
            self.bench.start.uncounted = str(slow)
            return
        self._keep(name, count)

    def _keep(self, name: str, count: Count) -> None:
        metric: Metric = count_metric(name)
        counts = self.bench.start.counts
        if any(each.metric.name == metric.name for each in counts):
            raise CaseError(
                f"{self.bench.case.id}: metric {metric.name!r} is counted twice in one test",
                "use devperf.measure(name, ...) for a second measurement",
            )
        counts.append(Counts(metric=metric, loops=count.pace.loops, layouts=[list(count.instructions)]))


def _had_children() -> bool:
    """Return whether this process, a fork, has started others: valgrind runs them, but counts nothing of them."""
    import resource

    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 0


def _execution(runner: Runner) -> Call:
    from pytest_devperf.targets.host.models.runner import ModelRunner

    assert isinstance(runner, ModelRunner), "models of this machine have one"
    return runner.call


def _on_one_thread(model: Model) -> Model:
    options = ONE_THREAD.get(Path(model.path).suffix.lower(), {})
    return replace(model, session_options={**options, **model.session_options})

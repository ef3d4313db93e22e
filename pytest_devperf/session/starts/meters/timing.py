"""Measure the calls of the fixture in one process start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.plan import MIN_ITERATIONS
from pytest_devperf.case.workload import App, Call, Command, Model, Workload
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.metric import LATENCY, LOAD, Better, Metric, time_metric
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.meters.bench import Bench, TimedProbe, repeats_of
from pytest_devperf.session.starts.meters.guard import Guard
from pytest_devperf.targets.awaited import AnyRunner, result_of, run_now, run_timed

if TYPE_CHECKING:
    from pytest_devperf.session.starts.loads import LoadedObject
    from pytest_devperf.session.starts.meters.app import AppLaunch, LaunchOptions

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.


class Meter:
    """Measures the calls of the fixture; `Once` replaces it in a session that measures nothing."""

    def __init__(self, bench: Bench, *, launch: LaunchOptions | None = None) -> None:
        """Begin a process start.

        Args:
            bench: The process start.
            launch: Options for an app; None: this session measures no apps.
        """
        self.bench = bench
        self._launch = launch
        self._loaded: LoadedObject | None = None
        self._guard = Guard(bench.case.id)
        self.app_launch: AppLaunch | None = None
        """Reports of an app."""
        self.lost_device = False
        """Whether the device went away while it was used."""

    # -- the calls of a test --------------------------------------------------------------------

    def time(self, name: str, call: Call) -> Any:  # noqa: ANN401 - whatever the call returns
        """Time a call in rounds and return the result of its first, unrecorded call."""
        with self._guard.alone(name):
            call = self._prepared(call)
            target = self.bench.enter(call, name)
            with target.start(call, self.bench.orders.process) as runner:
                result = result_of(runner)
                with self._guard.unbroken(name):
                    run_now(self._spend(runner, time_metric(name), call))
            return result

    async def time_awaited(self, name: str, call: Call) -> Any:  # noqa: ANN401 - whatever the call returns
        """Time a coroutine function, or an asynchronous stream, in the running loop."""
        from pytest_devperf.targets.host.call import AwaitedCallRunner

        with self._guard.alone(name):
            call = self._prepared(call)
            self.bench.enter(call, name)
            async with AwaitedCallRunner(call, clock=self.bench.tools.clock) as runner:
                result = runner.result()
                with self._guard.unbroken(name):
                    await self._spend(runner, time_metric(name), call)
            return result

    def load(self, factory: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Load an object; in the starts that measure loads, time it and begin the memory pass."""
        from pytest_devperf.session.starts.loads import LoadedObject

        bench = self.bench
        if self._loaded is not None:
            raise CaseError(
                f"{bench.case.id}: devperf.load was called twice in one test", "load both objects in one function"
            )
        target = bench.enter(Call(function=factory, args=args, kwargs=kwargs), LOAD)
        if not is_this_machine(target):
            raise Unsupported(f"devperf.load runs on this machine, not on {target.device.name}")
        bench.start.solo = True
        self._loaded = LoadedObject(factory, args, kwargs, clock=bench.tools.clock, taken=bench.takes_scalars)
        return self._loaded.first()

    def model(self, model: Model) -> Any:  # noqa: ANN401 - outputs by name
        """Time a model's methods; in the starts that measure loads, its load and memory too."""
        both = self._both_codes(model)
        if both is not None:
            return self.paired(*both)
        from pytest_devperf.session.starts.meters.models import measure_model

        return measure_model(self.bench, model)

    def command(self, command: Command) -> None:
        """Run a program once per round."""
        bench = self.bench
        bench.start.timed_whole = command.is_timed
        both = self._both_codes(command)
        if both is not None:
            self.paired(*both)
            return
        target = bench.enter(command, LATENCY)
        with target.start(command, bench.orders.process) as runner:
            run_now(self._spend(runner, time_metric(LATENCY), command))
        if bench.takes_scalars:
            with target.start(command, bench.orders.process) as runner:
                bench.notes.add_memory(runner.memory(bench.case.plan.iterations))

    def paired(self, old: Workload, new: Workload) -> Any:  # noqa: ANN401 - outputs by name
        """Measure two programs or two models in turns; return the new one's outputs."""
        from pytest_devperf.session.starts.meters.pair import measure_paired

        return measure_paired(self.bench, old, new)

    def _both_codes(self, workload: Workload) -> tuple[Workload, Workload] | None:
        """Return the old code's side of a workload and the new one, if the session measures both on a phone.

        A phone gets the files of both. Here, each code has an interpreter of its own.
        """
        bench = self.bench
        code = bench.tools.old_code
        if code is None or is_this_machine(bench.target_for(workload)):
            return None
        try:
            both = code.pushed(workload)
        except CaseError as error:
            bench.start.old_missing = str(error)
            return None
        bench.start.old_code = code.words if both is not None else None
        return both

    def app(self, app: App) -> tuple[str, ...]:
        """Launch an app that hosts its own cases; return the names of the cases that it reported."""
        from pytest_devperf.session.starts.meters.app import AppLaunch, launch_first

        if self.app_launch is not None:
            raise CaseError(f"{self.bench.case.id}: devperf.app was called twice in one test", "use one test per app")
        self.app_launch = AppLaunch(app=app)
        launch_first(self.bench, self.app_launch, self._launch)
        return tuple(report.case for report in self.app_launch.reports)

    def record(self, name: str, value: float, *, unit: str, better: Better) -> None:
        """Record a value that the test itself measured."""
        self.bench.notes.record(name, value, unit=unit, better=better)

    def state(self, facts: Mapping[str, Any]) -> None:
        """Record facts about the work done."""
        self.bench.notes.add_facts(facts)

    def give_up(self, reason: str) -> None:
        """Record why the target cannot run the test's workload."""
        self.bench.start.unsupported = reason

    def finish(self) -> None:
        """Measure the rest, which is only possible after the test has released its references."""
        bench = self.bench
        self._guard.refuse_broken()
        if self._loaded is not None and bench.takes_scalars:
            bench.notes.add_memory(self._loaded.finish())
            bench.notes.add_loads(self._loaded.loads_ns)
        if bench.notes.target is None and bench.start.scalars:
            # Only values that the test itself measured: it runs on the target of calls.
            bench.notes.settle(bench.target_for(Call(function=self.finish)))
        if bench.notes.target is not None:
            bench.notes.finish()

    # -- how ------------------------------------------------------------------------------------

    def _prepared(self, call: Call) -> Call:
        """Return whether this start measures a call's memory; for a loaded object, the load's memory is measured."""
        bench = self.bench
        return replace(call, memory=bench.takes_scalars and self._loaded is None and bench.case.memory)

    async def _spend(self, runner: AnyRunner, metric: Metric, workload: Call | Command) -> None:
        """Make the measurements of this start on a runner: rounds, memory, or both."""
        bench = self.bench
        if bench.takes_rounds:
            bench.probes.append(TimedProbe(metric=metric, workload=workload))
        await bench.take_rounds(runner, metric, repeats_of(workload))
        if not isinstance(workload, Call):
            return
        if self._loaded is None:
            await bench.take_memory_of_call(runner)
        elif bench.takes_scalars:
            # The peak is that of the load: here the loaded object is used.
            self._loaded.resume()
            await run_timed(runner, MIN_ITERATIONS, 1)

"""The `devperf` fixture. A `Meter` measures its calls; without `--devperf`, `Once` runs them once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.metric import LATENCY, Better
from pytest_devperf.session.starts.meters.awaited import AwaitedCalls

if TYPE_CHECKING:
    from pytest_devperf.case.workload import Call
    from pytest_devperf.session.starts.meters.counting import AnyMeter
    from pytest_devperf.session.starts.meters.once import Once
    from pytest_devperf.session.starts.workloads import Paired, Workloads

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.

Result = TypeVar("Result")


class Benchmark:
    """Measures the workloads of a test; in a session without `--devperf` it runs each once."""

    def __init__(self, workloads: Workloads, meter: AnyMeter | Once) -> None:
        self._workloads = workloads
        self._meter = meter
        self._named: set[str] = set()
        self._awaited = AwaitedCalls()

    def __call__(self, function: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Result:
        """Measure a call as the metric `latency`.

        Args:
            function: A function, or a coroutine function (see below).
            *args: Its arguments, the same objects in every call.
            **kwargs: Its keyword arguments.

        Returns:
            The result of the first, unrecorded call; in a coroutine test an awaitable of it.
        """
        result: Result = self._time(LATENCY, function, args, kwargs)
        return result

    def measure(
        self,
        name: str,
        function: Callable[..., Result],
        /,
        *args: Any,
        setup: Callable[[], object] | None = None,
        sync: Callable[[Any], object] | None = None,
        **kwargs: Any,
    ) -> Result:
        """Measure a further, named call as the metric `latency.<name>`.

        Args:
            name: Letters, digits, dots, dashes and underscores.
            function: As in a plain call.
            *args: Its arguments.
            setup: Runs untimed before every iteration.
            sync: Receives the result inside the timing, to wait for a GPU or a future.
            **kwargs: Its keyword arguments.
        """
        result: Result = self._time(
            f"{LATENCY}.{self._workloads.require_name(name)}", function, args, kwargs, setup=setup, sync=sync
        )
        return result

    def stream(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - see Returns
        """Measure a generator as `first_item`, `per_item` and `latency`.

        Returns:
            The list of its items; for an asynchronous generator in a coroutine test an awaitable of it.
        """
        call = self._workloads.stream(function, args, kwargs)
        self._claim(LATENCY)
        return self._run(LATENCY, call)

    def load(self, factory: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Result:
        """Load an object: metrics `load`, `first_load` and its memory."""
        self._workloads.require_factory(factory)
        loaded: Result = self._meter.load(factory, args, kwargs)
        return loaded

    def model(
        self,
        path: str | os.PathLike[str],
        *,
        dims: Mapping[str, int] | None = None,
        inputs: Mapping[str, Any] | None = None,
        providers: Sequence[str] | None = None,
        provider_options: Sequence[Mapping[str, str]] | None = None,
        session_options: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """Measure a model: `load`, `execute.<method>`, memory.

        Args:
            path: The file; relative to the test file.
            dims: Sizes of symbolic dimensions.
            inputs: Arrays by input name; without them, deterministic ones are generated.
            providers: Execution providers in order of preference.
            provider_options: Options of each, in the same order.
            session_options: Options of the runtime's session by name.

        Returns:
            The outputs of the last iteration by name, so that "fast because wrong" can be asserted.
        """
        model = self._workloads.model(
            path,
            dims=dims,
            inputs=inputs,
            providers=providers,
            provider_options=provider_options,
            session_options=session_options,
        )
        outputs: Mapping[str, Any] = self._skipping(lambda: self._meter.model(model))
        return outputs

    def command(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        push: Sequence[str | os.PathLike[str]] = (),
        read: str | Callable[[str], Any] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> None:
        """Measure a program that measures itself, or that is timed as a whole; each round starts it once.

        Args:
            argv: Program and arguments; `{iterations}` and `{warmup}` are filled in. No shell is involved.
            push: Files to put beside the program on its device; relative to the test file. `sub/data.txt` is available
                as `data.txt` and as `sub/data.txt`.
            read: How its output is converted to samples: name of a reader, or a function text -> samples. `"time"`: the
                output is not read, and the wall time of each start is measured. None: `"lines"` if an argument contains
                `{iterations}`, otherwise `"time"`.
            cwd: Its working directory on the device. None: on a phone the folder of the pushed files, on this machine
                the test's folder; a relative path is relative to that.
            environment: Variables added to its environment.
            units: Units of values that have none in the output.
        """
        command = self._workloads.command(argv, push=push, read=read, cwd=cwd, environment=environment, units=units)
        self._claim(LATENCY)
        self._skipping(lambda: self._meter.command(command))

    def paired(self, *, old: Paired, new: Paired, **how: Any) -> Mapping[str, Any] | None:
        """Measure two programs or two models in turns, round by round; their comparison is the verdict of this test.

        It needs no saved run, and drift affects both sides equally.

        Args:
            old: A list of arguments, as in `devperf.command`, or a model's path, as in `devperf.model`.
            new: The side that may have become slower, in the same form.
            **how: The other arguments of `devperf.command` or `devperf.model`, the same for both.

        Returns:
            The outputs of the new model by name; None for programs.
        """
        before, after = self._workloads.paired(old, new, how)
        self._claim(LATENCY)
        outputs: Mapping[str, Any] | None = self._skipping(lambda: self._meter.paired(before, after))
        return outputs

    def app(  # noqa: PLR0913 - what an app is and how it starts, each with one meaning
        self,
        id: str,  # noqa: A002 - the common name of an application id
        *,
        platform: str | None = None,
        build: Sequence[str] | None = None,
        launch: Sequence[str] | None = None,
        no_launch: bool = False,
        environment: Mapping[str, str] | None = None,
        cases: Sequence[str] | None = None,
        timeout_s: float = 600.0,
    ) -> tuple[str, ...]:
        """Measure an app that hosts its own cases; each case gets its own report, `test_app[case]`.

        Args:
            id: Application id, `com.example.bench`.
            platform: `android` or `ios`; None: any phone that the case runs on.
            build: Command that builds and installs it, once per session, in the test file's folder.
            launch: Command that starts it; `{DEVPERF_COLLECTOR}` and the other names of docs/wire.md are filled in.
            no_launch: Wait for an app that the user starts.
            environment: Further variables for it (on Android: extras of the intent).
            cases: Cases that must be reported.
            timeout_s: Longest wait for the next request of the app.

        Returns:
            Names of the reported cases.
        """
        app = self._workloads.app(
            id,
            platform=platform,
            build=build,
            launch=launch,
            no_launch=no_launch,
            environment=environment,
            cases=cases,
            timeout_s=timeout_s,
        )
        names: tuple[str, ...] = self._skipping(lambda: self._meter.app(app))
        return names

    def record(self, name: str, value: float, *, unit: str = "", better: Better = "lower") -> None:
        """Record a value that the test itself measured; it is compared exactly unless a tolerance is set."""
        number = self._workloads.require_value(name, value, better)
        self._meter.record(self._workloads.require_name(name), number, unit=unit, better=better)

    def workload(self, /, **facts: Any) -> None:
        """Record facts about the work done: a case whose facts change is no longer comparable."""
        self._meter.state(facts)

    @property
    def inputs(self) -> ModuleType:
        """Synthetic inputs, byte-identical in every run and on every machine."""
        import pytest_devperf.inputs

        return pytest_devperf.inputs

    def close(self) -> None:
        """End the test's use of the fixture.

        Raises:
            CaseError: A measurement was never awaited: nothing was measured.
        """
        self._awaited.close(self._workloads.case_id)

    def explain(self, error: TypeError) -> None:
        """Add an explanation to the error of a test that awaited the result of a plain function."""
        self._awaited.explain(error)

    # -- how ------------------------------------------------------------------------------------

    def _time(
        self,
        metric: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        setup: Callable[[], object] | None = None,
        sync: Callable[[Any], object] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the function returns
        call = self._workloads.call(function, args, kwargs, setup=setup, sync=sync)
        self._claim(metric)
        return self._run(metric, call)

    def _run(self, metric: str, call: Call) -> Any:  # noqa: ANN401 - whatever the function returns
        """Measure a call, or make it once; an awaited one runs in the test's event loop if there is one."""
        from pytest_devperf.targets.host.event_loop import is_in_coroutine
        from pytest_devperf.targets.host.once import is_awaited

        inside = is_in_coroutine()
        if is_awaited(call) and inside:
            return self._awaited.hand_out(metric, lambda: self._meter.time_awaited(metric, call))
        result = self._skipping(lambda: self._meter.time(metric, call))
        if inside:
            self._awaited.note_plain(call, result)
        return result

    def _skipping(self, work: Callable[[], Result]) -> Result:
        """Skip the test with the reason if the target cannot run the workload."""
        try:
            return work()
        except Unsupported as unsupported:
            self._meter.give_up(str(unsupported))
            raise pytest.skip.Exception(str(unsupported), _use_item_location=True) from None

    def _claim(self, metric: str) -> None:
        if metric in self._named:
            raise CaseError(
                f"{self._workloads.case_id}: {metric!r} is measured twice in one test",
                'name the second measurement: devperf.measure("name", function, ...)',
            )
        self._named.add(metric)

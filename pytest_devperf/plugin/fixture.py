"""The `devperf` fixture: what a test calls.

With measuring on, every call goes to a `Meter`; without, it runs once, as in an ordinary test.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.metric import LATENCY, Better, is_recorded_value
from pytest_devperf.untrusted import shown

if TYPE_CHECKING:
    from pytest_devperf.case.workload import Call, Command, Model, Workload
    from pytest_devperf.plugin.duel import Side
    from pytest_devperf.plugin.meter import Meter
    from pytest_devperf.targets.protocol import Target

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.

Result = TypeVar("Result")


class Benchmark:
    """Measures what a test hands it; in a session without `--devperf` it calls it once."""

    def __init__(
        self,
        *,
        case_id: str,
        folder: str,
        providers: tuple[str, ...] | None,
        meter: Meter | None,
        once: Callable[[], Target],
    ) -> None:
        self._case_id = case_id
        self._folder = folder
        self._providers = providers
        self._meter = meter
        self._once = once
        self._named: set[str] = set()
        self._unawaited: dict[str, Coroutine[Any, Any, Any]] = {}
        self._not_awaited: dict[str, Call] = {}
        """Plain calls made in a coroutine, by the type of their result."""

    def __call__(self, function: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Result:
        """Measure a call as the metric `latency`.

        Args:
            function: A function, or a coroutine function (see below).
            *args: Its arguments, the same objects in every call.
            **kwargs: Its keyword arguments.

        Returns:
            What the first, unrecorded call returned; in a coroutine test an awaitable of it.
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
        result: Result = self._time(f"{LATENCY}.{self._name(name)}", function, args, kwargs, setup=setup, sync=sync)
        return result

    def stream(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - see Returns
        """Measure a generator as `first_item`, `per_item` and `latency`.

        Returns:
            The list of its items; of an asynchronous generator in a coroutine test an awaitable of it.
        """
        from pytest_devperf.case.workload import Call

        self._require_callable(function, "devperf.stream")
        self._claim(LATENCY)
        return self._run(LATENCY, Call(function=function, args=args, kwargs=kwargs, shape="stream"))

    def load(self, factory: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Result:
        """Bring an object up: metrics `load`, `first_load` and the memory it takes."""
        from pytest_devperf.case.function import name_of, refuse_unfinished, what_it_gives

        self._require_callable(factory, "devperf.load")
        if what_it_gives(factory) != "result":
            raise CaseError(
                f"{self._case_id}: devperf.load calls a plain function, and {name_of(factory)} is none, "
                "so that only the making of a coroutine or generator would be timed",
                "bring the object up in a plain function",
            )
        if self._meter is None:
            made = factory(*args, **kwargs)
            refuse_unfinished(factory, made)
            return made
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
        """Measure a model alone: `load`, `execute.<method>`, memory.

        Args:
            path: The file; relative to the test file.
            dims: Sizes of symbolic dimensions.
            inputs: Arrays by input name; without them deterministic ones are made.
            providers: Execution providers in order of preference.
            provider_options: Options of each, in the same order.
            session_options: Options of the runtime's session by name.

        Returns:
            The outputs of the last iteration by name, so that "fast because wrong" can be asserted.
        """
        model = self._as_model(
            path,
            dims=dims,
            inputs=inputs,
            providers=providers,
            provider_options=provider_options,
            session_options=session_options,
        )
        return self._skipping(lambda: self._model(model))

    def _as_model(
        self,
        path: str | os.PathLike[str],
        *,
        dims: Mapping[str, int] | None = None,
        inputs: Mapping[str, Any] | None = None,
        providers: Sequence[str] | None = None,
        provider_options: Sequence[Mapping[str, str]] | None = None,
        session_options: Mapping[str, Any] | None = None,
    ) -> Model:
        from pytest_devperf.case.workload import Model

        file = os.path.join(self._folder, os.fspath(path))  # noqa: PTH118 - a model's path may be a text
        if not os.path.isfile(file):  # noqa: PTH113 - as above
            raise CaseError(f"{self._case_id}: no model at {file}", "pass a path relative to the test file")
        return Model(
            path=file,
            dims=dict(dims or {}),
            inputs=None if inputs is None else dict(inputs),
            providers=self._providers if providers is None else tuple(providers),
            provider_options=None if provider_options is None else tuple(provider_options),
            session_options=dict(session_options or {}),
        )

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
        """Measure a program that measures itself, or one that is timed as a whole: one round is one start of it.

        Args:
            argv: Program and arguments; `{iterations}` and `{warmup}` are filled in. No shell reads them.
            push: Files that lie beside the program where it runs; relative to the test file. `sub/data.txt` lies
                there as `data.txt` and as `sub/data.txt`.
            read: How its output becomes samples: a reader's name, or a function text -> samples. `"time"`: not at
                all, the wall time of each start is taken. None: `"lines"` if an argument takes `{iterations}`, else
                `"time"`.
            cwd: Folder it runs in, on the device that it runs on. None: on a phone the folder of the pushed files,
                on this machine the test's folder; a relative one is relative to that.
            environment: Variables added to its environment.
            units: Units of values whose output names none.
        """
        command = self._as_command(argv, push=push, read=read, cwd=cwd, environment=environment, units=units)
        self._claim(LATENCY)
        self._skipping(lambda: self._command(command))

    def _as_command(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        push: Sequence[str | os.PathLike[str]] = (),
        read: str | Callable[[str], Any] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> Command:
        from pytest_devperf.case.workload import WHOLE_TIME, Command

        if isinstance(argv, str) or not argv:
            raise CaseError(f"{self._case_id}: devperf.command takes a list of arguments", "split the command line")
        words = tuple(os.fspath(word) for word in argv)
        if read is None:
            read = "lines" if any("{iterations}" in word for word in words[1:]) else WHOLE_TIME
        return Command(
            argv=words,
            push=tuple(os.path.join(self._folder, os.fspath(file)) for file in push),  # noqa: PTH118 - as in model
            read=read,
            folder=self._folder,
            cwd=None if cwd is None else os.fspath(cwd),
            environment=dict(environment or {}),
            units=dict(units or {}),
        )

    def paired(self, *, old: Side, new: Side, **how: Any) -> Mapping[str, Any] | None:
        """Measure two programs or two models in turns, round by round: the metric's verdict is this test's.

        Needs no saved run: what drifts touches both sides alike.

        Args:
            old: A list of arguments, as in `devperf.command`, or a model's path, as in `devperf.model`.
            new: The same of what may have become slower.
            **how: The other arguments of `devperf.command` or `devperf.model`, the same for both.

        Returns:
            The outputs of the new model by name; None for programs.
        """
        from pytest_devperf.plugin.duel import duel, is_command, once, refuse_unlike

        make: Callable[..., Workload] = self._as_command if is_command(self._case_id, old, new) else self._as_model
        before, after = make(old, **how), make(new, **how)
        refuse_unlike(self._case_id, before, after)
        self._claim(LATENCY)
        meter = self._meter
        if meter is None:
            return self._skipping(lambda: once(self._once(), before, after))
        outputs: Mapping[str, Any] | None = self._skipping(lambda: duel(meter, before, after))
        return outputs

    def app(  # noqa: PLR0913 - what an app is and how it starts, each with one meaning
        self,
        id: str,  # noqa: A002 - an application id is called so everywhere
        *,
        platform: str | None = None,
        build: Sequence[str] | None = None,
        launch: Sequence[str] | None = None,
        no_launch: bool = False,
        environment: Mapping[str, str] | None = None,
        cases: Sequence[str] | None = None,
        timeout_s: float = 600.0,
    ) -> tuple[str, ...]:
        """Measure an app that hosts its own cases; each becomes a report of its own, `test_app[case]`.

        Args:
            id: Application id, `com.example.bench`.
            platform: `android` or `ios`; None: whichever phone the case runs on.
            build: Command that builds and installs it, once per session, in the test file's folder.
            launch: Command that starts it; `{DEVPERF_COLLECTOR}` and the other names of docs/wire.md are filled in.
            no_launch: Wait for an app that is started by hand.
            environment: Further variables (on Android: extras of the intent) it is started with.
            cases: Cases that must be reported.
            timeout_s: Longest wait for the next sign of the app.

        Returns:
            Names of the reported cases.
        """
        from pytest_devperf.case.workload import App

        app = App(
            id=id,
            platform=platform,
            build=None if build is None else tuple(build),
            launch=None if launch is None else tuple(launch),
            no_launch=no_launch,
            environment=dict(environment or {}),
            cases=None if cases is None else tuple(cases),
            timeout_s=timeout_s,
            cwd=self._folder,
        )
        return self._skipping(lambda: self._app(app))

    def record(self, name: str, value: float, *, unit: str = "", better: Better = "lower") -> None:
        """Keep a value that the test found out itself; it is compared exactly unless a tolerance is given."""
        number = _as_float(value)
        if number is None or not is_recorded_value(number):
            raise CaseError(f"{self._case_id}: devperf.record({name!r}, {shown(value)}) is not a finite number")
        if better not in {"lower", "higher"}:
            raise CaseError(f"{self._case_id}: better={better!r}", "pass 'lower' or 'higher'")
        name = self._name(name)
        if self._meter is not None:
            self._meter.record(name, number, unit=unit, better=better)

    def workload(self, /, **facts: Any) -> None:
        """State facts of the work done: another value next time makes the case incomparable."""
        if self._meter is not None:
            self._meter.state(facts)

    @property
    def inputs(self) -> ModuleType:
        """Synthetic inputs, byte-identical in every run and on every machine."""
        import pytest_devperf.inputs

        return pytest_devperf.inputs

    def close(self) -> None:
        """End the test's use of the fixture.

        Raises:
            CaseError: A measurement was asked for and never awaited: nothing was measured.
        """
        forgotten = list(self._unawaited)
        for coroutine in self._unawaited.values():
            coroutine.close()
        self._unawaited.clear()
        if forgotten:
            raise CaseError(
                f"{self._case_id}: {forgotten[0]!r} was never awaited, so nothing was measured",
                "write await devperf(function, ...)",
            )

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
        from pytest_devperf.case.function import name_of, what_it_gives
        from pytest_devperf.case.workload import Call

        self._require_callable(function, "devperf")
        for word, given in (("setup=", setup), ("sync=", sync)):
            if given is not None:
                self._require_callable(given, word)
        self._claim(metric)
        gives = what_it_gives(function)
        if gives in {"generator", "async generator"}:
            raise CaseError(
                f"{self._case_id}: {name_of(function)} returns a generator, and to create one takes no time",
                "measure it with devperf.stream(function, ...)",
            )
        call = Call(
            function=function,
            args=args,
            kwargs=kwargs,
            setup=setup,
            sync=sync,
            shape="coroutine" if gives == "coroutine" else "plain",
        )
        return self._run(metric, call)

    def _run(self, metric: str, call: Call) -> Any:  # noqa: ANN401 - whatever the function returns
        """Measure a call, or make it once; one that is awaited runs in the test's own event loop if there is one."""
        from pytest_devperf.targets.host.event_loop import is_in_coroutine, run_in_loop
        from pytest_devperf.targets.host.once import await_once, call_once, is_awaited

        meter, inside = self._meter, is_in_coroutine()
        if is_awaited(call) and inside:
            return self._expected(
                metric, lambda: await_once(call) if meter is None else meter.time_awaited(metric, call)
            )
        if meter is not None:
            result = self._skipping(lambda: meter.time(metric, call))
        elif is_awaited(call):
            result = run_in_loop(lambda: await_once(call))
        else:
            result = call_once(call)
        if inside:
            self._not_awaited[type(result).__name__] = call
        return result

    def _expected(self, metric: str, work: Callable[[], Awaitable[Any]]) -> Awaitable[Any]:
        """Remember a measurement until it is awaited."""

        async def awaited() -> Any:  # noqa: ANN401 - whatever is awaited
            del self._unawaited[metric]
            return await work()

        coroutine = self._unawaited[metric] = awaited()
        return coroutine

    def explain(self, error: TypeError) -> None:
        """Add to an error what it means, if a test awaited the result of a plain function."""
        from pytest_devperf.case.function import name_of

        said = str(error)
        call = next((call for kind, call in self._not_awaited.items() if kind in said and "await" in said), None)
        if call is not None:
            name = name_of(call.function)
            error.args = (f"{said}: {name} is no coroutine function, so devperf({name}, ...) is called without await",)

    def _model(self, model: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a Model, imported late
        if self._meter is not None:
            outputs: Mapping[str, Any] = self._meter.model(model)
            return outputs
        from pytest_devperf.targets.protocol import Answering, Surveying

        target = self._once()
        survey = target.survey(model) if isinstance(target, Surveying) else None
        if survey is not None:
            survey.require_method()
        with target.start(model, 0) as runner:
            runner.run(1, 1)
            return runner.result() if isinstance(runner, Answering) else {}

    def _command(self, command: Any) -> None:  # noqa: ANN401 - a Command, imported late
        if self._meter is not None:
            self._meter.command(command)
            return
        with self._once().start(command, 0) as runner:
            runner.run(1, 1)

    def _app(self, app: Any) -> tuple[str, ...]:  # noqa: ANN401 - an App, imported late
        if self._meter is not None:
            return self._meter.app(app)
        raise Unsupported(
            f"app {app.id} hosts its own cases, so it runs only if they are measured",
            "use --devperf --devperf-target=android",
        )

    def _skipping(self, work: Callable[[], Result]) -> Result:
        """What a target cannot run skips the test with the reason."""
        try:
            return work()
        except Unsupported as unsupported:
            if self._meter is not None:
                self._meter.start.unsupported = str(unsupported)
            raise pytest.skip.Exception(str(unsupported), _use_item_location=True) from None

    def _require_callable(self, given: object, word: str) -> None:
        from pytest_devperf.case.function import refuse_uncallable

        refuse_uncallable(given, word=f"{self._case_id}: {word}")

    def _claim(self, metric: str) -> None:
        if metric in self._named:
            raise CaseError(
                f"{self._case_id}: {metric!r} is measured twice in one test",
                'name the second measurement: devperf.measure("name", function, ...)',
            )
        self._named.add(metric)

    def _name(self, name: str) -> str:
        if not isinstance(name, str) or not name or any(not (c.isalnum() or c in "._-") for c in name):
            raise CaseError(
                f"{self._case_id}: {name!r} is not a valid metric name",
                "use letters, digits, dots, dashes and underscores",
            )
        return name


def _as_float(value: object) -> float | None:
    """Convert a number, one of numpy's too; None for anything else, and for one that no float holds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return None

"""Run the calls of cases, and convert this package's errors to pytest's."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pytest
from _pytest.runner import runtestprotocol

from pytest_devperf.errors import DevperfError, TargetError, Unsupported
from pytest_devperf.metric import LATENCY
from pytest_devperf.plugin.marks import MARKER, is_case, takes_fixture, target_elsewhere

if TYPE_CHECKING:
    from pytest_devperf.plugin.fixture import Benchmark
    from pytest_devperf.session.devices.our_targets import TargetOptions
    from pytest_devperf.session.devices.targets import SessionTargets
    from pytest_devperf.session.starts.meters.counting import AnyMeter
    from pytest_devperf.targets.protocol import Target

AnyBenchmark = TypeVar("AnyBenchmark", bound="Benchmark")


@contextmanager
def usage_errors() -> Iterator[None]:
    """End the session with exit code 4 and one line if it cannot run: all usage errors pass through here.

    Raises:
        pytest.UsageError: An error of ours was raised.
    """
    try:
        yield
    except DevperfError as error:
        raise pytest.UsageError(str(error)) from None


class Meters(Protocol):
    """Provides cases with their meters: in a session's own process, or in a fresh interpreter."""

    def meter(self, item: pytest.Item) -> AnyMeter | None:
        """Return the meter of a running case; None if it is not measured."""
        ...


METERS: pytest.StashKey[Meters] = pytest.StashKey()
"""Set while cases are measured."""


TARGETS: pytest.StashKey[SessionTargets] = pytest.StashKey()
TARGET_OPTIONS: pytest.StashKey[TargetOptions] = pytest.StashKey()
PROVIDERS: pytest.StashKey[tuple[str, ...] | None] = pytest.StashKey()

CALLS = "devperf-calls"
"""Name under which the hooks around a case's call are registered."""


def open_targets(config: pytest.Config, spec: str, options: TargetOptions, *, unit: int = 1) -> SessionTargets:
    """Create the targets of a session; each is opened on first use."""
    from pytest_devperf.plugin.hookspec import Services
    from pytest_devperf.session.devices.targets import SessionTargets

    config.stash[TARGET_OPTIONS] = options
    targets = config.stash[TARGETS] = SessionTargets(spec, Services(config), unit=unit)
    config.add_cleanup(targets.close)
    return targets


def answer_target(config: pytest.Config, spec: str) -> Target | None:
    """Open a target that is part of the plugin; None if the spec is for another one."""
    from pytest_devperf.session.devices.our_targets import open_target

    return open_target(spec, _targets_of(config), config.stash[TARGET_OPTIONS])


def _targets_of(config: pytest.Config) -> SessionTargets:
    from pytest_devperf.session.devices.our_targets import TargetOptions
    from pytest_devperf.session.devices.targets import AUTO

    return config.stash[TARGETS] if TARGETS in config.stash else open_targets(config, AUTO, TargetOptions())


def benchmark_of(request: pytest.FixtureRequest, kind: type[AnyBenchmark]) -> AnyBenchmark:
    """Make the fixture of a test: it measures if the session does, otherwise it calls once."""
    from pytest_devperf.session.starts.workloads import Workloads

    config = request.config
    meters = config.stash.get(METERS, None)
    meter = meters.meter(request.node) if meters is not None else None
    folder = str(request.node.path.parent)
    if meter is not None:
        return kind(Workloads(meter.bench.case.id, folder, config.stash[PROVIDERS]), meter)
    from pytest_devperf.session.starts.meters.once import Once

    elsewhere = target_elsewhere(request.node) if meters is None else None
    if elsewhere is not None:
        pytest.skip(f"pinned to the target {elsewhere}, which only --devperf measures on")
    if meters is None and not config.pluginmanager.has_plugin(CALLS):
        from pytest_devperf.plugin.options import read_providers

        config.stash[PROVIDERS] = read_providers(config)
        config.pluginmanager.register(Unmeasured(), CALLS)
    workloads = Workloads(request.node.nodeid, folder, config.stash[PROVIDERS])
    return kind(workloads, Once(lambda: _targets_of(config).host()))


@contextmanager
def closed_at_end(benchmark: Benchmark, request: pytest.FixtureRequest) -> Iterator[None]:
    """End a test's use of its fixture; what it forgot fails it."""
    yield
    try:
        benchmark.close()
    except DevperfError as error:
        pytest.fail(error.beside(request.node.nodeid), pytrace=False)


class Calls:
    """Hooks around the call of a measured case."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure a test that only has the marker; finish the meter once the test's frame is gone."""
        meter = self._meters.meter(item) if is_case(item) else None
        if meter is None:
            return (yield)
        with _sentences(item, meter), _kept_path(), _measured_whole(item, meter):
            result = yield
            meter.finish()
        return result


class Unmeasured:
    """Hooks around the call of a case in a session that measures nothing."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Report an error of this package by its message, as a measuring session does."""
        if not is_case(item):
            return (yield)
        with _sentences(item, None):
            return (yield)


@contextmanager
def _sentences(item: pytest.Item, meter: AnyMeter | None) -> Iterator[None]:
    """Let an error of this package fail or skip the test with its message, without a traceback."""
    problem: DevperfError | None = None
    try:
        yield
    except DevperfError as error:
        problem = error
    except TypeError as error:
        _explain(item, error)
        raise
    if isinstance(problem, Unsupported) and meter is not None:
        meter.give_up(str(problem))
        raise pytest.skip.Exception(str(problem), _use_item_location=True)
    if isinstance(problem, TargetError) and meter is not None:
        meter.lost_device = True
    if problem is not None:
        words = problem.beside(item.nodeid if meter is None else meter.bench.case.id)
        raise pytest.fail.Exception(words, pytrace=False) from None  # pytest would show both, with the same words


@contextmanager
def _kept_path() -> Iterator[None]:
    """Keep late imports, for the next case or the report, working even if a test empties the path."""
    path = tuple(sys.path)
    try:
        yield
    finally:
        sys.path.extend(entry for entry in path if entry not in sys.path)


def _explain(item: pytest.Item, error: TypeError) -> None:
    """Add the fixture's explanation to an error, if it has one."""
    from pytest_devperf.plugin.fixture import Benchmark

    benchmark = getattr(item, "funcargs", {}).get(MARKER)
    if isinstance(benchmark, Benchmark):
        benchmark.explain(error)


@contextmanager
def _measured_whole(item: pytest.Item, meter: AnyMeter) -> Iterator[None]:
    """Measure the whole test function of a test that only has the marker, without its fixtures."""
    function = getattr(item, "obj", None)
    if takes_fixture(item) or function is None:
        yield
        return
    make = _awaited if inspect.iscoroutinefunction(function) else _called
    item.obj = make(function, meter)  # type: ignore[attr-defined] # functions have one
    try:
        yield
    finally:
        item.obj = function  # type: ignore[attr-defined]


def _called(function: Any, meter: AnyMeter) -> Any:  # noqa: ANN401 - the test function
    from pytest_devperf.case.workload import Call

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        meter.time(LATENCY, Call(function=function, args=args, kwargs=kwargs))

    return called


def _awaited(function: Any, meter: AnyMeter) -> Any:  # noqa: ANN401 - the test function
    from pytest_devperf.case.workload import Call

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> None:
        call = Call(function=function, args=args, kwargs=kwargs, shape="coroutine")
        await meter.time_awaited(LATENCY, call)

    return awaited


def call_coroutine(item: pytest.Function) -> None:
    """Run a coroutine case that no asyncio plugin has claimed in a new event loop."""
    from pytest_devperf.targets.host.event_loop import run_in_loop

    names = item._fixtureinfo.argnames  # noqa: SLF001 - as pytest's own call does
    arguments = {name: item.funcargs[name] for name in names}
    run_in_loop(lambda: item.obj(**arguments))


# -- one test, not reported yet ---------------------------------------------------------------------


class _Subtests:
    """Collects failed subtests, which report themselves while their test runs."""

    def __init__(self, nodeid: str) -> None:
        self._nodeid = nodeid
        self.failed: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a failure; the test's own reports are not sent yet."""
        if report.nodeid == self._nodeid and report.failed:
            self.failed.append(report)


def run_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> tuple[list[pytest.TestReport], list[pytest.TestReport]]:
    """Run a test as pytest does, and keep its reports; a failed subtest fails it.

    Returns:
        The reports of the test, and those of its failed subtests, which pytest has shown already.
    """
    subtests = _Subtests(item.nodeid)
    item.config.pluginmanager.register(subtests)
    try:
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    finally:
        item.config.pluginmanager.unregister(subtests)
    count = len(subtests.failed)
    for report in reports:
        if count and report.when == "call" and report.passed:
            report.outcome = "failed"
            report.longrepr = f"contains {count} failed subtest{'s' if count > 1 else ''}"
    return reports, subtests.failed


def tear_down_others(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Tear down the fixtures that a test which does not run has kept alive, and that the next one does not use."""
    tear_down = partial(item.session._setupstate.teardown_exact, nextitem)  # noqa: SLF001 - as a test's own teardown
    call: pytest.CallInfo[None] = pytest.CallInfo.from_call(
        tear_down, when="teardown", reraise=(pytest.exit.Exception, KeyboardInterrupt)
    )
    if call.excinfo is not None:
        # Other plugins' hooks around a report rely on a setup of the test, which it did not have.
        item.ihook.pytest_runtest_logreport(report=pytest.TestReport.from_item_and_call(item, call))

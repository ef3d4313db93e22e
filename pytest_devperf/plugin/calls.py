"""What happens around a case's call: the marker alone, the end of the memory pass, errors in one line."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_devperf.errors import DevperfError, Unsupported
from pytest_devperf.metric import LATENCY
from pytest_devperf.plugin.marker import MARKER, is_case, takes_fixture

if TYPE_CHECKING:
    from pytest_devperf.plugin.meter import Meter


class Meters(Protocol):
    """Whoever hands cases their meters: pytest's own process, or a fresh interpreter."""

    def meter(self, item: pytest.Item) -> Meter | None:
        """Hand a running case its meter; None where it is not measured."""
        ...


METERS: pytest.StashKey[Meters] = pytest.StashKey()
"""Set while cases are measured."""


class Calls:
    """Hooks around the call of a measured case."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure a test that carries the marker alone; finish the meter once the test's frame is gone."""
        meter = self._meters.meter(item) if is_case(item) else None
        if meter is None:
            return (yield)
        restore = measured_whole(item, meter) if not takes_fixture(item) else None
        path = tuple(sys.path)
        problem: DevperfError | None = None
        result = None
        try:
            result = yield
            meter.finish()
        except DevperfError as error:
            problem = error
        except TypeError as error:
            explain(item, error)
            raise
        finally:
            # What is imported late, for the next case or the report, is found also where a test emptied the path.
            sys.path.extend(entry for entry in path if entry not in sys.path)
            if restore is not None:
                item.obj = restore  # type: ignore[attr-defined] # functions have one
        if isinstance(problem, Unsupported):
            meter.start.unsupported = str(problem)
            raise pytest.skip.Exception(str(problem), _use_item_location=True)
        if problem is not None:
            # Its own sentence says what happened; a traceback through the plugin would bury it.
            pytest.fail(problem.beside(meter.case.id), pytrace=False)
        return result


class Unmeasured:
    """Hooks around the call of a case in a session that measures nothing."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Tell an error of ours by its sentence, as a measuring session does."""
        try:
            return (yield)
        except DevperfError as error:
            if not is_case(item):
                raise
            problem = error
        except TypeError as error:
            explain(item, error)
            raise
        return pytest.fail(problem.beside(item.nodeid), pytrace=False)


def explain(item: pytest.Item, error: TypeError) -> None:
    """Have the fixture of a test explain an error that it may know the reason of."""
    from pytest_devperf.plugin.fixture import Benchmark

    benchmark = getattr(item, "funcargs", {}).get(MARKER)
    if isinstance(benchmark, Benchmark):
        benchmark.explain(error)


def measured_whole(item: pytest.Item, meter: Meter) -> Any:  # noqa: ANN401 - the test function
    """Put a loop around the whole test function; fixtures stay outside. Returns the function to restore."""
    from pytest_devperf.case.workload import Call

    function = getattr(item, "obj", None)
    if function is None:
        return None
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> None:
            call = Call(function=function, args=args, kwargs=kwargs, shape="coroutine")
            await meter.time_awaited(LATENCY, call)

        item.obj = awaited  # type: ignore[attr-defined]
        return function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        meter.time(LATENCY, Call(function=function, args=args, kwargs=kwargs))

    item.obj = called  # type: ignore[attr-defined]
    return function

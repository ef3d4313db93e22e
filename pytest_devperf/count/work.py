"""A call in the form in which it is counted: the loop that times it, with a request in place of the clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_devperf.case.workload import Call
from pytest_devperf.count.requests import Request
from pytest_devperf.targets.host.once import is_awaited
from pytest_devperf.targets.host.timing_loop import TimingLoop

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.


class Work:
    """A call whose instructions are counted between two requests."""

    def __init__(self, call: Call, toggle: Request) -> None:
        """Compile nothing yet.

        Args:
            call: The call, which ran at least once.
            toggle: Begins and ends what counts.
        """
        self._loop = TimingLoop(_without_items(call), toggle)
        self._repeats_inside = self._loop.loops

    def prepare(self, loops: int) -> Callable[[], Any]:
        """Return what runs the call so many times; it returns a coroutine if the call is awaited."""
        iterations, inner_loops = (1, loops) if self._repeats_inside else (loops, 1)
        _, fill = self._loop.prepare(iterations, inner_loops)
        return fill

    def parts(self, loops: int) -> int:
        """Return how many pairs of requests are sent: a setup between two calls does not count."""
        return 1 if self._repeats_inside else loops


def idle_work(toggle: Request) -> Work:
    """Return the work whose count is what a pair of requests and an empty call take."""
    return Work(Call(function=_nothing), toggle)


def _nothing() -> None:
    pass


def _without_items(call: Call) -> Call:
    """Make a stream a call that consumes it: no request is sent between its items."""
    if call.shape != "stream":
        return call
    awaited = is_awaited(call)
    return replace(
        call,
        function=partial(_consume_awaited if awaited else _consume, call.function),
        shape="coroutine" if awaited else "plain",
    )


def _consume(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    for _ in function(*args, **kwargs):
        pass


async def _consume_awaited(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    async for _ in function(*args, **kwargs):
        pass

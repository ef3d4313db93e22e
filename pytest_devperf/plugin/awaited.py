"""Coroutine functions: measured inside a running loop, or on a loop of our own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from pytest_devperf.case.workload import Call
from pytest_devperf.metric import Metric
from pytest_devperf.target.host.call import AwaitedCall
from pytest_devperf.target.target import Clock, Memory, Runner, Witness

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.


def run_alone(work: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - whatever is awaited
    """Run a coroutine on a loop of its own and leave the thread as it was.

    `asyncio.run` would leave the thread without a current loop.
    """
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work())
    finally:
        loop.close()


class AwaitedRunner:
    """A runner whose bursts run in the test's own loop while the rounds are counted in a thread.

    The thread only orders and waits: nothing is timed in it.
    """

    load_ns: int | None = None

    def __init__(self, call: AwaitedCall, loop: asyncio.AbstractEventLoop) -> None:
        self._call = call
        self._loop = loop
        self.tick_ns = call.tick_ns
        self.loops = call.loops

    @classmethod
    @asynccontextmanager
    async def bring_up(cls, call: Call, clock: Clock) -> AsyncIterator[AwaitedRunner]:
        """Make the first, unrecorded call."""
        awaited = AwaitedCall(call, clock=clock)
        await awaited.abegin()
        try:
            yield cls(awaited, asyncio.get_running_loop())
        finally:
            awaited.close()

    async def spend(self, spend: Callable[[Runner, Metric, Call], None], metric: Metric, call: Call) -> None:
        """Order the rounds from a thread, so that the loop stays free to run them."""
        with ThreadPoolExecutor(max_workers=1) as thread:
            await self._loop.run_in_executor(thread, spend, self, metric, call)

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run a burst in the test's loop and wait for it."""
        burst = self._call.arun(iterations, inner_loops)
        return asyncio.run_coroutine_threadsafe(burst, self._loop).result()

    def anchor(self) -> int | None:
        """Time the anchor kernel in the loop's thread."""

        async def once() -> int | None:
            return self._call.anchor()

        return asyncio.run_coroutine_threadsafe(once(), self._loop).result()

    def memory(self, iterations: int) -> Memory | None:
        """Take sizes in a pass of its own, in the test's loop."""
        return asyncio.run_coroutine_threadsafe(self._call.amemory(iterations), self._loop).result()

    def witness(self) -> Witness:
        """Tell of the latest burst."""
        return self._call.witness()

    def result(self) -> Any:  # noqa: ANN401 - whatever the call returns
        """Hand over the first call's result."""
        return self._call.result()

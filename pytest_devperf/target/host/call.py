"""A Python call in this process, or in the event loop that is running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

from pytest_devperf.case.workload import Call
from pytest_devperf.target.host.anchor import time_anchor
from pytest_devperf.target.host.footprint import Footprint
from pytest_devperf.target.host.loop import Loop
from pytest_devperf.target.host.tick import tick_ns
from pytest_devperf.target.target import Clock, Memory, Witness

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.


def _wind_down(events: asyncio.AbstractEventLoop) -> None:
    """Close an event loop as `asyncio.run` does: what the workload left running is cancelled first."""
    left = asyncio.all_tasks(events)
    for task in left:
        task.cancel()
    if left:
        events.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    events.run_until_complete(events.shutdown_asyncgens())
    events.run_until_complete(events.shutdown_default_executor())
    events.close()


class CallRunner:
    """A Python call that has been made once and can be timed."""

    load_ns: int | None = None
    """A call has no load of its own."""

    def __init__(self, call: Call, *, clock: Clock) -> None:
        self._clock = clock
        self._footprint = Footprint(whole=False)
        self._loop = Loop(call, clock.now_ns)
        self._events = asyncio.new_event_loop() if self._loop.awaited else None
        self.loops = self._loop.loops
        self.tick_ns = tick_ns(clock.now_ns)
        try:
            self._result = self._finished(self._loop.afirst()) if self._loop.awaited else self._loop.first()
        except BaseException:
            self.close()
            raise
        self._footprint.note_loaded()

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time: (iterations,) ns each, integers where there is one inner loop."""
        samples, fill = self._loop.prepare(iterations, inner_loops)
        with self._loop.timing():
            if self._events is None:
                fill()
            else:
                self._finished(fill())
        return self._loop.finish(samples, inner_loops)

    def anchor(self) -> int | None:
        """Time the fixed kernel once, in ns."""
        return time_anchor(self._clock.now_ns)

    def memory(self, iterations: int) -> Memory | None:
        """Take sizes; the baseline is from before the first call, `disposed` without its result."""
        return self._footprint.take(lambda: self.run(iterations, 1), self._forget)

    def witness(self) -> Witness:
        """Tell what is known of the latest run; a stream's further series too."""
        return self._loop.witness

    def result(self) -> Any:  # noqa: ANN401 - whatever the call returned
        """Hand over the result of the first call; a stream's is the list of its items."""
        return self._result

    def close(self) -> None:
        """Close files and the event loop."""
        self._loop.close()
        self._footprint.close()
        if self._events is not None:
            _wind_down(self._events)
            self._events = None

    def _forget(self) -> None:
        self._result = None

    def _finished(self, work: Awaitable[Any]) -> Any:  # noqa: ANN401 - whatever the call returns
        assert self._events is not None
        return self._events.run_until_complete(work)


class AwaitedCall:
    """A coroutine function timed inside the event loop that is already running.

    Made by `HostTarget.start_awaited`; `arun` takes the place of `Runner.run`.
    """

    load_ns: int | None = None

    def __init__(self, call: Call, *, clock: Clock) -> None:
        self._clock = clock
        self._footprint = Footprint(whole=False)
        self._loop = Loop(call, clock.now_ns)
        self.loops = self._loop.loops
        self.tick_ns = tick_ns(clock.now_ns)
        self._result: Any = None

    async def abegin(self) -> None:
        """Make the first, unrecorded call."""
        self._result = await self._loop.afirst()
        self._footprint.note_loaded()

    async def arun(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time in the running event loop: (iterations,) ns each."""
        samples, fill = self._loop.prepare(iterations, inner_loops)
        with self._loop.timing():
            await fill()
        return self._loop.finish(samples, inner_loops)

    def anchor(self) -> int | None:
        """Time the fixed kernel once, in ns."""
        return time_anchor(self._clock.now_ns)

    async def amemory(self, iterations: int) -> Memory | None:
        """Take sizes in a pass of its own."""
        self._footprint.begin()
        await self.arun(iterations, 1)
        return self._footprint.end(self._forget)

    def witness(self) -> Witness:
        """Tell what is known of the latest run."""
        return self._loop.witness

    def result(self) -> Any:  # noqa: ANN401 - whatever the call returned
        """Hand over the result of the first call."""
        return self._result

    def close(self) -> None:
        """Close files."""
        self._loop.close()
        self._footprint.close()

    def _forget(self) -> None:
        self._result = None

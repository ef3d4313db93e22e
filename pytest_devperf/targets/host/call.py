"""A Python call in this process: on an event loop of its own if it is awaited, or in the one that is running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.workload import Call
from pytest_devperf.targets.host.event_loop import let_loop_act, wind_down
from pytest_devperf.targets.host.memory.footprint import Footprint
from pytest_devperf.targets.host.meter import tick_ns, time_anchor
from pytest_devperf.targets.host.once import await_once, call_once, refuse_used_up
from pytest_devperf.targets.host.timing_loop import TimingLoop
from pytest_devperf.targets.protocol import Clock, Memory, RoundContext

if TYPE_CHECKING:
    import asyncio

    from typing_extensions import Self

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.


class _Timed:
    """What is alike in calls that are made and calls that are awaited."""

    load_ns: int | None = None
    """A call has no load of its own."""

    def __init__(self, call: Call, *, clock: Clock) -> None:
        self._call = call
        self._now_ns = clock.now_ns
        self._loop = TimingLoop(call, clock.now_ns)
        self._footprint: Footprint | None = None
        self._result: Any = None
        self.loops = self._loop.loops
        self.tick_ns = tick_ns(clock.now_ns)

    def anchor(self) -> int | None:
        """Time the fixed kernel once, in ns."""
        return time_anchor(self._now_ns)

    def round_context(self) -> RoundContext:
        """Tell what is known of the latest run; a stream's further series too."""
        return self._loop.round_context

    def result(self) -> Any:  # noqa: ANN401 - whatever the call returned
        """Hand over the result of the first call; a stream's is the list of its items."""
        return self._result


class CallRunner(_Timed):
    """A Python call that has been made once and can be timed."""

    def __init__(self, call: Call, *, clock: Clock) -> None:
        super().__init__(call, clock=clock)
        self._events: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Self:
        """Make the first, unrecorded call."""
        try:
            if self._loop.awaited:
                import asyncio

                self._events = asyncio.new_event_loop()
            if self._call.memory:
                self._footprint = Footprint()
                with self._footprint.children.watched():
                    self._result = self._once()
                self._footprint.note_loaded()
            else:
                self._result = self._once()
            refuse_used_up(self._call)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close the event loop, and end what watches."""
        if self._footprint is not None:
            self._footprint.close()
        if self._events is not None:
            events, self._events = self._events, None
            wind_down(events)

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time: (iterations,) ns each, integers where there is one inner loop."""
        samples, fill = self._loop.prepare(iterations, inner_loops)
        with self._loop.timing():
            if self._events is None:
                fill()
            else:
                self._events.run_until_complete(fill())
        return self._loop.finish(samples, inner_loops)

    def memory(self, iterations: int) -> Memory | None:
        """Take sizes; the baseline is from before the first call, `disposed` is what further calls leave behind."""
        if self._footprint is None:
            return None
        self._footprint.begin_growth()
        self.run(iterations, 1)
        return self._footprint.end_growth()

    def _once(self) -> Any:  # noqa: ANN401 - whatever the call returns
        return (
            call_once(self._call) if self._events is None else self._events.run_until_complete(await_once(self._call))
        )


class AwaitedCallRunner(_Timed):
    """A coroutine function, or an asynchronous stream, that is timed inside the event loop that is running."""

    async def __aenter__(self) -> Self:
        """Make the first, unrecorded call."""
        try:
            if self._call.memory:
                self._footprint = Footprint()
                with self._footprint.children.watched():
                    self._result = await await_once(self._call)
                self._footprint.note_loaded()
            else:
                self._result = await await_once(self._call)
            refuse_used_up(self._call)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """End what watches."""
        if self._footprint is not None:
            self._footprint.close()

    async def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time in the running event loop: (iterations,) ns each."""
        samples, fill = self._loop.prepare(iterations, inner_loops)
        with self._loop.timing():
            await fill()
        # A workload that never waits would let no timeout and no Ctrl-C through until all rounds are done.
        await let_loop_act()
        return self._loop.finish(samples, inner_loops)

    async def memory(self, iterations: int) -> Memory | None:
        """Take sizes, as `CallRunner.memory` does."""
        if self._footprint is None:
            return None
        self._footprint.begin_growth()
        await self.run(iterations, 1)
        return self._footprint.end_growth()

"""A Python call in this process; an awaited one runs in its own event loop, or in the running one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.workload import Call
from pytest_devperf.targets.awaited import run_now
from pytest_devperf.targets.host.event_loop import let_loop_act, wind_down
from pytest_devperf.targets.host.meter import tick_ns, time_anchor
from pytest_devperf.targets.host.once import await_once, call_once, refuse_used_up
from pytest_devperf.targets.host.timing_loop import TimingLoop
from pytest_devperf.targets.protocol import Clock, Memory, RoundContext

if TYPE_CHECKING:
    import asyncio

    from typing_extensions import Self

    from pytest_devperf.explain.profile import Profile
    from pytest_devperf.targets.host.memory.footprint import Footprint

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.


def _new_footprint() -> Footprint:
    """Start to watch the memory of this process. Imported here because few process starts measure memory."""
    from pytest_devperf.targets.host.memory.footprint import Footprint

    return Footprint()


class _Runner:
    """The part that synchronous and awaited calls share."""

    load_ns: int | None = None
    """A call loads nothing."""

    def __init__(self, call: Call, *, clock: Clock) -> None:
        self._call = call
        self._now_ns = clock.now_ns
        self._loop = TimingLoop(call, clock.now_ns)
        self._footprint: Footprint | None = None
        self._result: Any = None
        self.loops = self._loop.loops
        self.tick_ns = tick_ns(clock.now_ns)

    def anchor(self) -> int | None:
        """Time the anchor kernel once, in ns."""
        return time_anchor(self._now_ns)

    def round_context(self) -> RoundContext:
        """Return the context of the latest run, the further series of a stream included."""
        return self._loop.round_context

    def result(self) -> Any:  # noqa: ANN401 - whatever the call returned
        """Return the result of the first call; a stream's is the list of its items."""
        return self._result

    @contextmanager
    def _first_call(self) -> Iterator[None]:
        """Surround the first call: measure memory if the call asks for it, and close everything if the call fails."""
        try:
            if self._call.memory:
                self._footprint = _new_footprint()
                with self._footprint.children.watched():
                    yield
                self._footprint.note_loaded()
            else:
                yield
            refuse_used_up(self._call)
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        """Stop watching memory."""
        if self._footprint is not None:
            self._footprint.close()


class CallRunner(_Runner):
    """A Python call that has been made once and can be timed."""

    def __init__(self, call: Call, *, clock: Clock) -> None:
        super().__init__(call, clock=clock)
        self._events: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Self:
        """Make the first, unrecorded call, unless the test determines how often to call."""
        if self._call.repeats is not None:
            return self
        if self._loop.awaited:
            import asyncio

            self._events = asyncio.new_event_loop()
        with self._first_call():
            if self._events is None:
                self._result = call_once(self._call)
            else:
                self._result = self._events.run_until_complete(await_once(self._call))
        return self

    def __exit__(self, *_: object) -> None:
        """Close the event loop, and stop watching memory."""
        self._close()

    def _close(self) -> None:
        super()._close()
        if self._events is not None:
            events, self._events = self._events, None
            wind_down(events)

    def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time: (iterations,) ns each, integers if there is one inner loop."""
        samples, fill = self._loop.prepare(iterations, inner_loops)
        with self._loop.timing():
            if self._events is None:
                fill()
            else:
                self._events.run_until_complete(fill())
        return self._loop.finish(samples, inner_loops)

    def memory(self, iterations: int) -> Memory | None:
        """Measure memory; the baseline precedes the first call, `disposed` includes what further calls leave behind."""
        if self._footprint is None:
            return None
        self._footprint.begin_growth()
        self.run(iterations, 1)
        return self._footprint.end_growth()

    def profile(self, metric: str, iterations: int) -> Profile:
        """Profile the call."""
        from pytest_devperf.targets.host.profiled import run_plain, run_profiled

        plain = run_now(run_plain(self, self.round_context, iterations))
        passes = run_profiled(self._call, metric, iterations, plain)
        return run_now(passes) if self._events is None else self._events.run_until_complete(passes)


class AwaitedCallRunner(_Runner):
    """A coroutine function, or an asynchronous stream, that is timed in the running event loop."""

    async def __aenter__(self) -> Self:
        """Make the first, unrecorded call."""
        with self._first_call():
            self._result = await await_once(self._call)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop watching memory."""
        self._close()

    async def run(self, iterations: int, inner_loops: int) -> Sequence[float]:
        """Run and time in the running event loop: (iterations,) ns each."""
        samples, fill = self._loop.prepare(iterations, inner_loops)
        with self._loop.timing():
            await fill()
        # Otherwise a workload that never waits would delay timeouts and Ctrl-C until all rounds are done.
        await let_loop_act()
        return self._loop.finish(samples, inner_loops)

    async def memory(self, iterations: int) -> Memory | None:
        """Measure memory, as `CallRunner.memory` does."""
        if self._footprint is None:
            return None
        self._footprint.begin_growth()
        await self.run(iterations, 1)
        return self._footprint.end_growth()

    async def profile(self, metric: str, iterations: int) -> Profile:
        """Profile the call in the running event loop."""
        from pytest_devperf.targets.host.profiled import run_plain, run_profiled

        plain = await run_plain(self, self.round_context, iterations)
        return await run_profiled(self._call, metric, iterations, plain)

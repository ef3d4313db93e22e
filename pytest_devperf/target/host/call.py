"""A Python call in this process."""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pytest_devperf.case.workload import Call
from pytest_devperf.errors import CaseError
from pytest_devperf.target.host.anchor import time_anchor
from pytest_devperf.target.host.burst import Burst, BurstShape, compile_burst
from pytest_devperf.target.host.footprint import Footprint
from pytest_devperf.target.host.meter import Meter, untraced
from pytest_devperf.target.host.tick import tick_ns
from pytest_devperf.target.target import Clock, Memory, Witness

FIRST_ITEM = "first_item"
"""Name of the series that holds a stream's time to its first item."""

PER_ITEM = "per_item"
"""Name of the series that holds a stream's mean time between items after the first."""


def name_of(function: object) -> str:
    """Name a function as its author does."""
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def is_awaited_stream(call: Call) -> bool:
    """Tell whether the call gives an asynchronous stream."""
    return call.shape == "stream" and inspect.isasyncgenfunction(inspect.unwrap(call.function))


def refuse_unfinished(call: Call, result: object) -> None:
    """Refuse a plain call whose result is work still to be done: only its creation would be timed.

    Raises:
        CaseError: The result is a generator or a coroutine.
    """
    name = name_of(call.function)
    if inspect.iscoroutine(result):
        result.close()
        raise CaseError(
            f"{name} returned a coroutine, so only its creation would be timed",
            f"pass the coroutine function itself: await devperf({name}, …)",
        )
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.isgenerator(result):
            result.close()
        raise CaseError(
            f"{name} returned a generator, so only its creation would be timed",
            f"use devperf.stream({name}, …), which exhausts it",
        )


class Loop:
    """The compiled loops of one call, the meter around them, and what they gave."""

    def __init__(self, call: Call, now_ns: Callable[[], int]) -> None:
        self._call = call
        self._now_ns = now_ns
        self._meter = Meter(now_ns)
        self._bursts: dict[bool, Burst] = {}
        self._series: tuple[list[Any], list[Any]] = ([], [])
        self.witness = Witness()
        self.awaited = call.shape == "coroutine" or is_awaited_stream(call)

    def prepare(self, iterations: int, inner_loops: int) -> tuple[list[Any], Callable[[], Any]]:
        """Make the list of samples and the call that fills it.

        Raises:
            CaseError: The call cannot be repeated within one iteration, and inner loops were asked for.
        """
        if inner_loops > 1 and not self.loops:
            raise CaseError(f"{name_of(self._call.function)} cannot be repeated within one iteration", "inner_loops=1")
        call = self._call
        samples: list[Any] = [0] * iterations
        more: tuple[Any, ...] = (inner_loops,)
        if call.shape == "stream":
            self._series = ([None] * iterations, [None] * iterations)
            more = self._series
        burst = self._burst(inner=inner_loops > 1)

        def fill() -> Any:  # noqa: ANN401 - None, or a coroutine of the awaited shapes
            return burst(call.function, call.args, call.kwargs, call.setup, call.sync, self._now_ns, samples, *more)

        return samples, fill

    @property
    def loops(self) -> bool:
        """Whether the call may be repeated within one iteration."""
        return self._call.setup is None and self._call.shape != "stream"

    def first(self) -> Any:  # noqa: ANN401 - whatever the call returns
        """Make one call outside all timing; its setup and sync included."""
        call = self._call
        if call.setup is not None:
            call.setup()
        result = call.function(*call.args, **call.kwargs)
        if call.shape == "plain":
            refuse_unfinished(call, result)
        if call.shape == "stream":
            result = _items(call, result)
        if call.sync is not None:
            call.sync(result)
        return result

    async def afirst(self) -> Any:  # noqa: ANN401 - whatever the call returns
        """Make one awaited call outside all timing; its setup and sync included."""
        call = self._call
        if call.setup is not None:
            await _settled(call.setup())
        given = call.function(*call.args, **call.kwargs)
        if call.shape == "stream":
            result: Any = [item async for item in given]
        elif inspect.isawaitable(given):
            result = await given
        else:
            raise CaseError(f"{name_of(call.function)} returned nothing to await", "call it without await")
        if call.sync is not None:
            await _settled(call.sync(result))
        return result

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Hold the garbage collector and whatever traces this thread still, and read the meter around a burst.

        The collector ran once when the process start began (see `Footprint`); between rounds it runs as ever.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            with untraced():
                self._meter.begin()
                yield
                self.witness = self._meter.end()
        finally:
            if collecting:
                gc.enable()

    def finish(self, samples: list[Any], inner_loops: int) -> Sequence[float]:
        """Divide inner loops out and note the further series of a stream.

        Raises:
            CaseError: A stream gave no item.
        """
        if self._call.shape == "stream":
            firsts, rests = self._series
            if None in firsts:
                raise CaseError(f"{name_of(self._call.function)} gave no item", "a stream needs one item at least")
            series: Mapping[str, tuple[float, ...]] = {FIRST_ITEM: tuple(firsts)}
            if None not in rests:
                series = {**series, PER_ITEM: tuple(rests)}
            self.witness = replace(self.witness, also=series)
        return samples if inner_loops == 1 else [sample / inner_loops for sample in samples]

    def close(self) -> None:
        """Give the meter's file back."""
        self._meter.close()

    def _burst(self, *, inner: bool) -> Burst:
        if inner not in self._bursts:
            call = self._call
            self._bursts[inner] = compile_burst(
                BurstShape(
                    positional=len(call.args),
                    keywords=tuple(call.kwargs),
                    setup=call.setup is not None,
                    setup_awaited=self.awaited and inspect.iscoroutinefunction(call.setup),
                    sync=call.sync is not None,
                    sync_awaited=self.awaited and inspect.iscoroutinefunction(call.sync),
                    awaited=self.awaited,
                    streamed=call.shape == "stream",
                    inner=inner,
                )
            )
        return self._bursts[inner]


def _items(call: Call, stream: Any) -> list[Any]:  # noqa: ANN401 - whatever the call returns
    if not hasattr(stream, "__iter__"):
        raise CaseError(
            f"{name_of(call.function)} returned {type(stream).__qualname__}, which is no stream",
            "return an iterator, or pass the async generator function itself",
        )
    return list(stream)


async def _settled(value: Any) -> Any:  # noqa: ANN401 - whatever a setup or sync returns
    return await value if inspect.isawaitable(value) else value


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

"""The loop that times a call: compiled, metered, with the collector and tracers held still."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pytest_devperf.case.workload import Call
from pytest_devperf.errors import CaseError
from pytest_devperf.target.clock import SystemClock
from pytest_devperf.target.host.burst import Burst, BurstShape, compile_burst
from pytest_devperf.target.host.meter import Meter, untraced
from pytest_devperf.target.target import Witness

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.

FIRST_ITEM = "first_item"
"""Name of the series that holds a stream's time to its first item."""

STILL_NS = 5_000_000_000
"""Time by this machine's own counter in which any clock that works moves. More calls in a batch would only take
longer under one that does not."""

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
            f"pass the coroutine function itself: await devperf({name}, ...)",
        )
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.isgenerator(result):
            result.close()
        raise CaseError(
            f"{name} returned a generator, so only its creation would be timed",
            f"use devperf.stream({name}, ...), which exhausts it",
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

        Raises:
            CaseError: The session's clock stood still meanwhile.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            with untraced():
                began_ns = SystemClock.now_ns()
                self._meter.begin()
                yield
                self.witness = self._meter.end()
        finally:
            if collecting:
                gc.enable()
        took_ns = SystemClock.now_ns() - began_ns
        if self.witness.wall_ns == 0 and took_ns > STILL_NS:
            raise CaseError(
                f"the session's clock stood still while {name_of(self._call.function)} ran for {took_ns / 1e9:.0f} s",
                "look at what pytest_devperf_clock answers",
            )

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

"""The loop that times a call: compiled, with the garbage collector and tracers suspended."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pytest_devperf.case.function import name_of
from pytest_devperf.case.workload import Call
from pytest_devperf.errors import CaseError
from pytest_devperf.sensor.host.counters import Counters
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.host.loop_source import CompiledLoop, LoopShape, compile_loop
from pytest_devperf.targets.host.meter import Meter, untraced
from pytest_devperf.targets.host.once import is_awaited
from pytest_devperf.targets.protocol import RoundContext

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.

FIRST_ITEM = "first_item"
"""Name of the series with a stream's time to its first item."""

STILL_NS = 5_000_000_000
"""Time on this machine's counter in which every working clock moves. With a clock that stands still, more calls in a
round would only take longer."""

PER_ITEM = "per_item"
"""Name of the series with a stream's mean time between items after the first."""


class TimingLoop:
    """The compiled loops of one call, the meter around them, and their samples."""

    def __init__(self, call: Call, now_ns: Callable[[], int]) -> None:
        self._call = call
        self._now_ns = now_ns
        self._meter = Meter(now_ns)
        self._counters = Counters()
        self._compiled: dict[bool, CompiledLoop] = {}
        self._series: tuple[list[Any], list[Any]] = ([], [])
        self._also: Mapping[str, tuple[float, ...]] = {}
        self.awaited = is_awaited(call)

    def prepare(self, iterations: int, inner_loops: int) -> tuple[list[Any], Callable[[], Any]]:
        """Make the list of samples and the function that fills it.

        Raises:
            CaseError: Inner loops were requested, but the call cannot be repeated within one iteration.
        """
        if inner_loops > 1 and not self.loops:
            raise CaseError(f"{name_of(self._call.function)} cannot be repeated within one iteration", "inner_loops=1")
        call = self._call
        samples: list[Any] = [0] * iterations
        more: tuple[Any, ...] = (inner_loops,)
        if call.shape == "stream":
            self._series = ([None] * iterations, [None] * iterations)
            more = self._series
        fill_samples = self._compile(inner=inner_loops > 1)

        def fill() -> Any:  # noqa: ANN401 - None, or a coroutine of the awaited shapes
            return fill_samples(
                call.function, call.args, call.kwargs, call.setup, call.sync, self._now_ns, samples, *more
            )

        return samples, fill

    @property
    def loops(self) -> bool:
        """Whether the call can be repeated within one iteration."""
        if self._call.repeats is not None:
            return True  # a setup precedes each iteration, whatever the number of calls in it
        return self._call.setup is None and self._call.shape != "stream"

    @property
    def round_context(self) -> RoundContext:
        """The context of the latest run, the further series of a stream included."""
        # A setup runs within the round, and no counter leaves it out.
        counts = self._counters.counts if self._call.setup is None else {}
        return replace(self._meter.round_context, also=self._also, counters=counts)

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Suspend the garbage collector and all tracers of this thread, and read the meter around a block.

        Between rounds, the garbage collector runs as usual.

        Raises:
            CaseError: The session's clock stood still meanwhile.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            with untraced(), self._meter.reading(), self._counters.counting():
                began_ns = SystemClock.now_ns()
                yield
        finally:
            if collecting:
                gc.enable()
        took_ns = SystemClock.now_ns() - began_ns
        if self.round_context.wall_ns == 0 and took_ns > STILL_NS:
            raise CaseError(
                f"the session's clock stood still while {name_of(self._call.function)} ran for {took_ns / 1e9:.0f} s",
                "check what pytest_devperf_clock returns",
            )

    def finish(self, samples: list[Any], inner_loops: int) -> Sequence[float]:
        """Divide by the inner loops, and keep the further series of a stream.

        Raises:
            CaseError: A stream had no item.
        """
        if self._call.shape == "stream":
            firsts, rests = self._series
            if None in firsts:
                raise CaseError(f"{name_of(self._call.function)} yielded no item", "a stream needs at least one item")
            series: Mapping[str, tuple[float, ...]] = {FIRST_ITEM: tuple(firsts)}
            if None not in rests:
                series = {**series, PER_ITEM: tuple(rests)}
            self._also = series
        return samples if inner_loops == 1 else [sample / inner_loops for sample in samples]

    def _compile(self, *, inner: bool) -> CompiledLoop:
        if inner not in self._compiled:
            call = self._call
            self._compiled[inner] = compile_loop(
                LoopShape(
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
        return self._compiled[inner]

"""Objects that are brought up to be measured: their load cycles, and the memory they take."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_devperf.metric import (
    BYTES_PER_MIB,
    FIRST_LOAD,
    LEAKED_MEMORY,
    LOAD,
    LOADED_MEMORY,
    PEAK_MEMORY,
    memory_metric,
    start_metric,
)
from pytest_devperf.plugin.start import Few
from pytest_devperf.target.target import Clock, Memory

LOAD_CYCLES = 3
"""Loads per process start; their median is the value of that start."""


class Loaded:
    """An object that `devperf.load` brings up, its load cycles and its memory pass."""

    def __init__(
        self,
        factory: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        clock: Clock,
        taken: bool,
    ) -> None:
        self._factory = factory
        self._args = args
        self._kwargs = kwargs
        self._clock = clock
        self._taken = taken
        self._loads: list[int] = []

    def first(self) -> Any:  # noqa: ANN401 - whatever the factory makes
        """Bring the test's own object up."""
        if not self._taken:
            return self._factory(*self._args, **self._kwargs)
        from pytest_devperf.sensor.memory import PeakMemory

        gc.collect()
        self._peak = PeakMemory()
        self._peak.reset()
        self._baseline = self._peak.rss_bytes()
        loaded = self._once()
        self._loaded = self._peak.rss_bytes()
        return loaded

    def finish(self) -> list[Few]:
        """Read the peak, then the size after disposal, then time the further load cycles."""
        peak = self._peak.peak_bytes()
        gc.collect()
        disposed = self._peak.rss_bytes()
        self._peak.close()
        memory = Memory(baseline=self._baseline, loaded=self._loaded, peak=peak, disposed=disposed)
        for _ in range(LOAD_CYCLES - 1):
            self._once()
            gc.collect()
        return [*load_values(self._loads), *memory_values(memory)]

    def _once(self) -> Any:  # noqa: ANN401 - whatever the factory makes
        began = self._clock.now_ns()
        loaded = self._factory(*self._args, **self._kwargs)
        self._loads.append(self._clock.now_ns() - began)
        return loaded


def load_values(loads: Sequence[int]) -> list[Few]:
    """The load of a start, the median of its cycles in ns, and its first load."""
    if not loads:
        return []
    return [
        Few(metric=start_metric(LOAD), values=[float(statistics.median(loads))]),
        Few(metric=start_metric(FIRST_LOAD), values=[float(loads[0])]),
    ]


def memory_values(memory: Memory | None) -> list[Few]:
    """Sizes above the baseline, in MiB."""
    if memory is None:
        return []
    base = memory.baseline / BYTES_PER_MIB
    sizes = {LOADED_MEMORY: memory.loaded, PEAK_MEMORY: memory.peak, LEAKED_MEMORY: memory.disposed}
    return [
        Few(metric=memory_metric(name), values=[(size - memory.baseline) / BYTES_PER_MIB], baseline=base)
        for name, size in sizes.items()
        if size is not None
    ]

"""Objects whose load is measured: their load cycles, and their memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_devperf import stats
from pytest_devperf.case.function import refuse_unfinished
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
from pytest_devperf.session.starts.start import ScalarValues
from pytest_devperf.targets.protocol import Clock, Memory

if TYPE_CHECKING:
    from pytest_devperf.targets.host.memory.footprint import Footprint

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.

LOAD_CYCLES = 3
"""Loads per process start; their median is the value of that start."""


class LoadedObject:
    """An object that `devperf.load` loads, its load cycles and its memory pass."""

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
        self._footprint = _footprint() if taken else None
        self._loads: list[int] = []

    def first(self) -> Any:  # noqa: ANN401 - whatever the factory makes
        """Load the test's own object."""
        if self._footprint is None:
            return self._made()
        with self._footprint.children.watched():
            loaded = self._once()
        self._footprint.note_loaded()
        return loaded

    def resume(self) -> None:
        """Continue to sample the peak: the loaded object is now used."""
        if self._footprint is not None:
            self._footprint.resume()

    def finish(self) -> Memory | None:
        """Read the peak, then the size after disposal, then time the further load cycles."""
        if self._footprint is None:
            return None
        memory = self._footprint.end(lambda: None)
        self._footprint.close()
        for _ in range(LOAD_CYCLES - 1):
            self._once()
            gc.collect()
        return memory

    @property
    def loads_ns(self) -> Sequence[int]:
        """Durations of all loads."""
        return self._loads

    def _made(self) -> Any:  # noqa: ANN401 - whatever the factory makes
        made = self._factory(*self._args, **self._kwargs)
        refuse_unfinished(self._factory, made)
        return made

    def _once(self) -> Any:  # noqa: ANN401 - whatever the factory makes
        began = self._clock.now_ns()
        loaded = self._made()
        self._loads.append(self._clock.now_ns() - began)
        return loaded


def _footprint() -> Footprint:
    from pytest_devperf.targets.host.memory.footprint import Footprint

    return Footprint()


def load_scalars(loads: Sequence[int]) -> list[ScalarValues]:
    """Return the load of a start, which is the median of its cycles in ns, and its first load."""
    if not loads:
        return []
    return [
        ScalarValues(metric=start_metric(LOAD), values=[float(stats.median(loads))]),
        ScalarValues(metric=start_metric(FIRST_LOAD), values=[float(loads[0])]),
    ]


def memory_scalars(memory: Memory | None) -> list[ScalarValues]:
    """Return memory above the baseline, in MiB."""
    if memory is None:
        return []
    base = memory.baseline / BYTES_PER_MIB
    sizes = {LOADED_MEMORY: memory.loaded, PEAK_MEMORY: memory.peak, LEAKED_MEMORY: memory.disposed}
    return [
        ScalarValues(metric=memory_metric(name), values=[(size - memory.baseline) / BYTES_PER_MIB], baseline=base)
        for name, size in sizes.items()
        if size is not None
    ]

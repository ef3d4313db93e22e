"""The step a clock really moves by."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from pytest_devperf.targets.host.meter import untraced

TICK_READS = 2_000
"""Pairs of reads the step is taken from: 0.2 ms in all, and the smallest step turned up within the first hundred
wherever it was tried."""

COARSE_READS = 50_000
"""Reads after which a clock that never moved is taken for one that only moves by sleeping (a test's): some 3 ms. The
performance counters of all systems move within a microsecond; a coarser clock still shows in the samples.
"""


@lru_cache(maxsize=8)
def tick_ns(now_ns: Callable[[], int]) -> float:
    """Measure the step of a clock: the smallest non-zero difference of consecutive reads, once per process.

    The resolution a clock reports is not its step: 1 ns is reported where reads are 50 ns apart.
    A clock that does not move by itself (a test's) has a step of 1 ns.
    """
    with untraced():  # as the samples are taken: a profiler sees each read, and would set them apart
        return _smallest_step(now_ns)


def _smallest_step(now_ns: Callable[[], int]) -> float:
    smallest: int | None = None
    reads = 0
    last = now_ns()
    while reads < TICK_READS or (smallest is None and reads < COARSE_READS):
        now = now_ns()
        step = now - last
        if step > 0 and (smallest is None or step < smallest):
            smallest = step
        last = now
        reads += 1
    return float(smallest or 1)

"""Readings around a round: CPU time, waiting for a CPU, sleep, the step of the clock, and the anchor kernel."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from typing import Any

from pytest_devperf.metric import NS_PER_S
from pytest_devperf.sensor.instrument import MONITORING_TOOLS
from pytest_devperf.targets.protocol import RoundContext
from pytest_devperf.untrusted import parse_whole

SCHEDSTAT = "/proc/thread-self/schedstat"
"""Run time, run delay (ns) and timeslices of this thread; `/proc/self/…` shows the main thread's.

Source: Documentation/scheduler/sched-stats.rst of the Linux kernel.
"""

SLEPT_NS = 100_000_000
"""Growth of the time spent asleep that counts as sleep: two clocks are read one after the other, and a thread may
lose its CPU in between; the shortest suspend takes longer than a tenth of a second."""

TICK_READS = 2_000
"""Reads of a clock to determine its step: 0.2 ms in all. On every machine that was tried, the smallest step appeared
within the first hundred."""

COARSE_READS = 50_000
"""Reads, about 3 ms, after which a clock that has not moved counts as a test's clock, which only moves by sleeping.
The performance counters of all systems move within a microsecond; a coarser clock still shows in the samples."""

ANCHOR_BYTES = 65_536
"""64 KiB: about 65 µs, long compared with the step of the clock and short compared with a round; fits the L2 cache."""

ANCHOR_IDENTITY = f"blake2b-64k/1 {platform.python_implementation()} {platform.python_version()} {platform.machine()}"
"""Kernel and implementation, as in `Context.anchor`. Anchors with different identities are not compared."""

_ANCHOR_TEXT = bytes(range(256)) * (ANCHOR_BYTES // 256)


def time_anchor(now_ns: Callable[[], int]) -> int:
    """Time a fixed piece of work once, in ns: it distinguishes a slow machine from slow code.

    BLAKE2b is C code of the interpreter: tracing, hash seed and heap do not affect it and, unlike OpenSSL's
    digests, it is the same code on every system.
    """
    blake2b = hashlib.blake2b
    text = _ANCHOR_TEXT
    started = now_ns()
    blake2b(text).digest()
    return now_ns() - started


@lru_cache(maxsize=8)
def tick_ns(now_ns: Callable[[], int]) -> float:
    """Measure the step of a clock: the smallest non-zero difference of consecutive reads, once per process.

    The resolution that a clock reports is not its step: systems report 1 ns for reads that are 50 ns apart.
    A clock that does not move by itself (a test's) has a step of 1 ns.
    """
    with untraced():  # as the samples are taken: a profiler sees each read, and would lengthen the step
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


def parse_waited_ns(schedstat: bytes) -> int | None:
    """Parse the run delay of a schedstat line; None if the kernel does not count it (all zeros).

    >>> parse_waited_ns(b"2301911 70422 5")
    70422
    """
    words = schedstat.decode("ascii", "replace").split()
    if len(words) < 2:  # noqa: PLR2004 - run time, run delay
        return None
    run_ns, delay_ns = map(parse_whole, words[:2])
    return delay_ns if run_ns and delay_ns is not None and delay_ns >= 0 else None


def read_asleep_ns() -> int | None:
    """Read how long the machine has been asleep since it started, in ns; None if this system has no such clock."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    if hasattr(time, "CLOCK_UPTIME_RAW"):  # macOS, whose CLOCK_MONOTONIC goes on in sleep
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - time.clock_gettime_ns(time.CLOCK_UPTIME_RAW)
    return None


def read_children_cpu_ns() -> int | None:
    """Read the CPU time of all children that have ended; None on a system without such a counter."""
    try:
        import resource
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * NS_PER_S)


@contextmanager
def untraced() -> Iterator[None]:
    """Suspend tools that observe each call: coverage tools, debuggers, profilers.

    These are the tools of this thread (`sys.settrace`, `sys.setprofile`) and, since Python 3.12, those of the whole
    interpreter (`sys.monitoring`). A tool that the workload itself installs meanwhile (a breakpoint) stays.
    """
    resumes = [*_suspended_hooks(), *_suspended_tools()]
    try:
        yield
    finally:
        for resume in reversed(resumes):
            resume()


def _suspended_hooks() -> Iterator[Callable[[], object]]:
    """Suspend this thread's trace and profile functions; yield functions that install them again."""
    hooks: list[tuple[Any, Callable[[Any], None]]] = [
        (sys.gettrace(), sys.settrace),
        (sys.getprofile(), sys.setprofile),
    ]
    for held, install in hooks:
        if held is None:
            continue
        if callable(held):
            install(None)
            yield partial(install, held)
        elif hasattr(held, "disable") and hasattr(held, "enable"):
            # A profiler in C (cProfile before 3.12) has no function that could be installed again.
            held.disable()
            yield held.enable


def _suspended_tools() -> Iterator[Callable[[], object]]:
    """Suspend the tools of `sys.monitoring`; yield functions that resume them, except those that are gone by then."""
    monitoring: Any = getattr(sys, "monitoring", None)
    for tool in range(MONITORING_TOOLS) if monitoring is not None else ():
        name = monitoring.get_tool(tool)
        events = monitoring.get_events(tool) if name is not None else 0
        if not events:
            continue
        monitoring.set_events(tool, 0)

        def resume(tool: int = tool, name: str = name, events: int = events) -> None:
            if monitoring.get_tool(tool) == name and not monitoring.get_events(tool):
                monitoring.set_events(tool, events)

        yield resume


class Meter:
    """Takes readings just before and just after a round, in the thread that runs it."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self.round_context = RoundContext()
        """The readings of the latest completed round."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Take readings around a block; the waiting time innermost, so that it lies within the wall time."""
        schedstat = _open_schedstat()
        try:
            asleep_before, wall_before, cpu_before = read_asleep_ns(), self._now_ns(), time.process_time_ns()
            waited_before = _read_waited_ns(schedstat)
            yield
            waited_ns, cpu_ns, wall_ns = _read_waited_ns(schedstat), time.process_time_ns(), self._now_ns()
            asleep_ns = read_asleep_ns()
        finally:
            if schedstat is not None:
                with suppress(OSError):  # the workload closed it
                    os.close(schedstat)
        self.round_context = RoundContext(
            cpu_ns=cpu_ns - cpu_before,
            wall_ns=wall_ns - wall_before,
            waited_ns=None if waited_ns is None or waited_before is None else waited_ns - waited_before,
            slept=asleep_ns is not None and asleep_before is not None and asleep_ns - asleep_before > SLEPT_NS,
        )


def _open_schedstat() -> int | None:
    """Open the file of this thread; None on another system, or in a sandbox without it."""
    try:
        return os.open(SCHEDSTAT, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None


def _read_waited_ns(schedstat: int | None) -> int | None:
    if schedstat is None:
        return None
    try:
        return parse_waited_ns(os.pread(schedstat, 128, 0))
    except OSError:  # the workload closed it
        return None

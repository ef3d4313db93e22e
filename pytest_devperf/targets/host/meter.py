"""What is known of a burst beside its samples: CPU time, waiting for a CPU, sleep."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from pytest_devperf.sensor.instrument import MONITORING_TOOLS
from pytest_devperf.targets.protocol import RoundContext
from pytest_devperf.untrusted import parse_whole

SCHEDSTAT = "/proc/thread-self/schedstat"
"""Run time, run delay (ns) and timeslices of this thread; `/proc/self/…` is the main thread's.

Source: Documentation/scheduler/sched-stats.rst of the Linux kernel.
"""

SLEPT_NS = 100_000_000
"""Growth of the time spent asleep that counts as sleep: two clocks are read one after the other and a thread may
lose its CPU in between; the shortest suspend takes longer than a tenth of a second."""


def parse_waited_ns(schedstat: bytes) -> int | None:
    """Take the run delay from a schedstat line; None where the kernel does not count (all zeros).

    >>> parse_waited_ns(b"2301911 70422 5")
    70422
    """
    words = schedstat.decode("ascii", "replace").split()
    if len(words) < 2:  # noqa: PLR2004 - run time, run delay
        return None
    run_ns, delay_ns = map(parse_whole, words[:2])
    return delay_ns if run_ns and delay_ns is not None and delay_ns >= 0 else None


def read_asleep_ns() -> int | None:
    """Read how long the machine has been asleep since it started, in ns; None where nothing tells."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    if hasattr(time, "CLOCK_UPTIME_RAW"):  # macOS, where CLOCK_MONOTONIC goes on in sleep
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - time.clock_gettime_ns(time.CLOCK_UPTIME_RAW)
    return None


@contextmanager
def untraced() -> Iterator[None]:
    """Suspend the tools that see each call: coverage tools, debuggers, profilers.

    Those of this thread (`sys.settrace`, `sys.setprofile`), and from Python 3.12 on those of the whole interpreter
    (`sys.monitoring`). What the workload itself installs meanwhile (a breakpoint) stays.
    """
    resumes = [*_suspended_hooks(), *_suspended_tools()]
    try:
        yield
    finally:
        for resume in reversed(resumes):
            resume()


def _suspended_hooks() -> Iterator[Callable[[], object]]:
    """Suspend this thread's trace and profile functions; gives what puts each back."""
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
            # A profiler in C (cProfile before 3.12) holds no function that could be installed again.
            held.disable()
            yield held.enable


def _suspended_tools() -> Iterator[Callable[[], object]]:
    """Suspend the tools of `sys.monitoring`; gives what puts each back, where it is still there."""
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
    """Reads taken just before and just after a burst, in the thread that runs it."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self.round_context = RoundContext()
        """What is known of the latest burst that came to its end."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read everything around a burst; the waiting time last before it, so that none lies outside the wall time."""
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

"""What is known of a burst beside its samples: CPU time, waiting for a CPU, sleep."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pytest_devperf.target.target import Witness

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
    fields = schedstat.split()
    if len(fields) < 2 or not fields[0].isdigit() or not fields[1].isdigit() or int(fields[0]) == 0:  # noqa: PLR2004 - run time, run delay
        return None
    return int(fields[1])


def read_asleep_ns() -> int | None:
    """Read how long the machine has been asleep since it started, in ns; None where nothing tells."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    if hasattr(time, "CLOCK_UPTIME_RAW"):  # macOS, where CLOCK_MONOTONIC goes on in sleep
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - time.clock_gettime_ns(time.CLOCK_UPTIME_RAW)
    return None


@contextmanager
def untraced() -> Iterator[None]:
    """Suspend the calling thread's trace and profile functions (coverage tools, debuggers, profilers).

    Tools of `sys.monitoring` (3.12 and later) belong to the whole interpreter and are left alone. What the
    workload itself installs meanwhile (a breakpoint) stays.
    """
    trace, profile = sys.gettrace(), sys.getprofile()
    if trace is not None:
        sys.settrace(None)
    if profile is not None:
        sys.setprofile(None)
    try:
        yield
    finally:
        if profile is not None:
            sys.setprofile(profile)
        if trace is not None:
            sys.settrace(trace)


class Meter:
    """Reads taken just before and just after a burst, in the thread that made the meter."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._schedstat: int | None = None
        try:
            self._schedstat = os.open(SCHEDSTAT, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            self._schedstat = None  # another system, or a sandbox without it: not known
        self._before: tuple[int | None, int | None, int, int] | None = None

    def begin(self) -> None:
        """Read everything before a burst; the waiting time last, so that none of it lies outside the wall time."""
        asleep_ns, wall_ns, cpu_ns = read_asleep_ns(), self._now_ns(), time.process_time_ns()
        self._before = (asleep_ns, self._waited_ns(), cpu_ns, wall_ns)

    def end(self) -> Witness:
        """Read everything after a burst and tell the differences."""
        waited_ns, cpu_ns, wall_ns, asleep_ns = (
            self._waited_ns(),
            time.process_time_ns(),
            self._now_ns(),
            read_asleep_ns(),
        )
        assert self._before is not None, "end() without begin()"
        asleep_before, waited_before, cpu_before, wall_before = self._before
        return Witness(
            cpu_ns=cpu_ns - cpu_before,
            wall_ns=wall_ns - wall_before,
            waited_ns=None if waited_ns is None or waited_before is None else waited_ns - waited_before,
            slept=asleep_ns is not None and asleep_before is not None and asleep_ns - asleep_before > SLEPT_NS,
        )

    def close(self) -> None:
        """Give the file back; the meter then knows no waiting time."""
        if self._schedstat is not None:
            os.close(self._schedstat)
            self._schedstat = None

    def _waited_ns(self) -> int | None:
        if self._schedstat is None:
            return None
        try:
            return parse_waited_ns(os.pread(self._schedstat, 128, 0))
        except OSError:  # the thread that opened it has ended
            return None

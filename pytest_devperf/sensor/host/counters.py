"""Hardware counters of this thread: instructions and cycles in user space, by the kernel's perf events.

Nothing has to be installed. Most virtual machines have no such counters, and some containers and systems forbid to read
them; then nothing is counted.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

CALL = {"x86_64": 298, "aarch64": 241}
"""Number of the system call `perf_event_open` by processor.

Source: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h of Linux.
"""

ATTRIBUTES = struct.Struct("<IIQQQQQ64x")
"""`struct perf_event_attr` of version 5, 112 bytes: type, size, config, period, sample type, read format, flags.

Source: perf_event_open(2), as are the constants below.
"""

WITH_TIMES = 1 | 2
"""A count is read with the times for which it was enabled and really counted."""

FLAGS = 1 << 0 | 1 << 5 | 1 << 6
"""Disabled at first; without the kernel, which `perf_event_paranoid` 2 forbids to count; without the hypervisor."""

CLOSE_ON_EXEC = 8
RESET, ENABLE, DISABLE = 0x2403, 0x2400, 0x2401
"""Requests of ioctl(2)."""

COUNT = struct.Struct("<QQQ")
"""What is read: the count, the time for which it was enabled, and the time for which it was counted, in ns."""


class Event(NamedTuple):
    """Something that the kernel counts."""

    name: str
    type: int
    config: int


HARDWARE = (Event("instructions", 0, 1), Event("cycles", 0, 0))
"""PERF_TYPE_HARDWARE with PERF_COUNT_HW_INSTRUCTIONS and PERF_COUNT_HW_CPU_CYCLES."""


class Counters:
    """Counts events of the thread that runs a block."""

    def __init__(self, events: Sequence[Event] = HARDWARE) -> None:
        """Choose what is counted.

        Args:
            events: The events.
        """
        self._events = events
        self.counts: Mapping[str, int] = {}
        """What was counted in the latest block; empty if nothing can be counted."""
        self.problem: str | None = None
        """Why nothing can be counted; None if nothing speaks against it so far."""

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count a block."""
        self.counts = {}
        with ExitStack() as stack:
            opened = [] if self.problem is not None else self._opened(stack)
            for number in opened:
                _request(number, ENABLE)
            yield
            for number in opened:
                _request(number, DISABLE)
            self.counts = self._read(opened)

    def _opened(self, stack: ExitStack) -> list[int]:
        """Open all events; none if one cannot be."""
        numbers = []
        for event in self._events:
            try:
                number = open_event(event)
            except OSError as error:
                self.problem = words_of(error)
                return []
            stack.callback(_close, number)
            numbers.append(number)
        return numbers

    def _read(self, opened: Sequence[int]) -> Mapping[str, int]:
        """Read what was counted; nothing if the counters were shared with other programs, as that is an estimate."""
        counts = {}
        for event, number in zip(self._events, opened, strict=False):
            try:
                count, enabled_ns, counted_ns = COUNT.unpack(os.read(number, COUNT.size))
            except (OSError, struct.error):  # the workload closed it
                return {}
            if not count or counted_ns < enabled_ns:
                return {}
            counts[event.name] = count
        return counts


def open_event(event: Event) -> int:
    """Open a counter of this thread, and return its file descriptor.

    Raises:
        OSError: It cannot be counted here.
    """
    call = CALL.get(platform.machine())
    if sys.platform != "linux" or call is None:
        raise OSError(errno.ENOSYS, "no perf events on this system")
    attributes = ATTRIBUTES.pack(event.type, ATTRIBUTES.size, event.config, 0, 0, WITH_TIMES, FLAGS)
    this_thread, any_cpu, no_group = 0, -1, -1
    number = _system_call()(call, attributes, this_thread, any_cpu, no_group, ctypes.c_ulong(CLOSE_ON_EXEC))
    if number < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(number)


def words_of(error: OSError) -> str:
    """Explain why nothing can be counted.

    >>> words_of(OSError(errno.ENOENT, "")), words_of(OSError(errno.EACCES, ""))[:35]
    ('this machine has no hardware counters, as most virtual ones', 'the system forbids to read counters')
    """
    if error.errno in {errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV}:
        return "this machine has no hardware counters, as most virtual ones"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return "the system forbids to read counters (kernel.perf_event_paranoid is above 2, or a container's filter)"
    return f"counters cannot be read ({error.strerror or error})"


def _system_call() -> Any:  # noqa: ANN401 - a function of ctypes
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    return function


def _request(number: int, request: int) -> None:
    import fcntl

    try:
        fcntl.ioctl(number, request, 0)
    except OSError:  # the workload closed it: nothing is read then
        return


def _close(number: int) -> None:
    try:
        os.close(number)
    except OSError:  # the workload closed it
        return

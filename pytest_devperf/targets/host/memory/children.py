"""The memory of processes that a measured process starts."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.sensor.host.memory import MemoryReader
from pytest_devperf.targets.host.memory import watcher

WATCHER = (sys.executable, "-I", "-S", watcher.__file__)
"""The program that watches; without site packages, so that its interpreter stays small."""

ANSWER_S = 10.0
"""Longest wait for the watcher to start or to answer: it takes a second on a loaded machine."""


def read_descendants(pid: int) -> Sequence[int]:
    """List the processes that a process started, and the processes that these started."""
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


@dataclass(frozen=True, slots=True)
class _Ended:
    """The system's counters for children of this process that have ended."""

    used: tuple[float, ...]
    """Counters that grow with every child."""
    largest_bytes: int
    """Size of the largest child, or of this process when it started it, whichever is larger."""


def _read_ended() -> _Ended | None:
    """Read the counters for ended children; None on a system without them."""
    try:
        import resource
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024
    return _Ended((used.ru_utime, used.ru_stime, used.ru_minflt, used.ru_nvcsw), used.ru_maxrss * unit)


def _count_error_bytes() -> int:
    """Return how far two counts of the pages of one process may differ.

    Each CPU keeps a part of the count to itself, of anonymous, file and shared pages apart.

    Source:
        Linux lib/percpu_counter.c, `compute_batch_value`; include/linux/mm_types_task.h.
    """
    cpus = os.cpu_count() or 1
    return 3 * max(32, 2 * cpus) * cpus * mmap.PAGESIZE


class ChildrenMemory:
    """The memory of a process's descendants, without those that exist already.

    Args:
        pid: Id of the process, which is not counted itself.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._old = frozenset(read_descendants(pid))
        self.peak_bytes = 0
        """Highest sum of the peaks of the processes alive at one reading, or the largest one's peak."""
        self.unseen = False
        """Whether a process ended that was not read, or not just before its end."""

    def size_bytes(self) -> int:
        """Read the resident memory of the processes alive now."""
        alive = [MemoryReader(pid) for pid in read_descendants(self._pid) if pid not in self._old]
        size = sum(reader.look() or 0 for reader in alive)
        self.peak_bytes = max(self.peak_bytes, sum(reader.peak_bytes() or 0 for reader in alive))
        return size

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the processes from outside while a workload runs."""
        before = _read_ended()
        watcher = self._start()
        try:
            yield
        finally:
            after = _read_ended()
            seen_to_their_end = self._end(watcher)
            self.size_bytes()
        if before is None or after is None or before.used == after.used:
            return
        # The system keeps one size for all children that have ended, and it starts at the size of this process.
        own_bytes = (MemoryReader(self._pid).peak_bytes() or 0) + _count_error_bytes()
        if after.largest_bytes > max(before.largest_bytes, own_bytes):
            self.peak_bytes = max(self.peak_bytes, after.largest_bytes)
        elif not seen_to_their_end:
            self.unseen = True

    def _start(self) -> subprocess.Popen[str] | None:
        """Start the watcher; None if the kernel does not list a process's children."""
        if not Path(f"/proc/{self._pid}/task/{self._pid}/children").exists():
            return None
        words = [*WATCHER, "tree", str(self._pid), *map(str, self._old)]
        watcher = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert watcher.stdout is not None
        watcher.stdout.readline()
        return watcher

    def _end(self, watcher: subprocess.Popen[str] | None) -> bool:
        """End the watcher and keep the peak it saw; False if it saw no child, or missed the end of one."""
        if watcher is None:
            return False
        try:
            peak_kib, seen, late = map(int, watcher.communicate("end\n", timeout=ANSWER_S)[0].split())
        except (subprocess.TimeoutExpired, ValueError, OSError):
            with suppress(OSError):
                watcher.kill()
            watcher.wait()
            return False
        self.peak_bytes = max(self.peak_bytes, peak_kib * 1024)
        return bool(seen and not late)

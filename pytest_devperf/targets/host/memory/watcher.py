"""Watch memory from outside: a small separate program, run by path and without this package.

The `ru_maxrss` of a child starts at the size of the process that started it. This program has about 9 MiB, however
large the test process is; and a thread in the test process would disturb workloads that fork.

    watcher.py run JOB            starts a program, watches its process tree, exits as it did; JOB is a file that
                                  contains, marshalled, its arguments, its environment, and the path for its peak
    watcher.py tree PID [OLD …]   watches a process's descendants, except the OLD ones, until it reads a line from
"""

from __future__ import annotations

import marshal
import os
import signal
import sys
import time

PAUSE_S = 0.0005
"""Pause between readings: the kernel keeps each process's peak, so only its last rise can be missed."""

RESTLESS_S = 0.01
"""Time without a pause at the beginning: a program may end within a millisecond."""

LATE_S = 0.005
"""Between the last reading of a process and its end: in this time it may have allocated 10 MiB more, at 2 GiB/s."""

LEAST_KIB = 1024
"""Less is not a program's peak: the program ended before it could be read, and counts with this program's size."""


class Tree:
    """The peak of the descendants of a process."""

    def __init__(self, pid: int, left_out: set[int]) -> None:
        self._pid = pid
        self._left_out = left_out
        self._alive_at_s: dict[int, float] = {}
        self.seen: set[int] = set()
        self.peak_kib = 0
        """Highest sum of the peaks of the processes alive at one reading."""
        self.late = False
        """Whether a process went on for a while after it was last read."""

    def look(self) -> bool:
        """Read every process; False once the process itself has ended."""
        if not os.path.exists(f"/proc/{self._pid}"):
            return False
        at_s = time.monotonic()
        parents = _descendants(self._pid)
        peaks = {pid: _read_peak_kib(pid) for pid in parents.keys() | {self._pid} if pid not in self._left_out}
        # Until a new process loads its program, it uses the memory of the process that started it.
        alive = [
            (pid, peaks[pid]) for pid, parent in parents.items() if peaks.get(pid) and peaks[pid] != peaks.get(parent)
        ]
        self.seen.update(pid for pid, _ in alive)
        self.peak_kib = max(self.peak_kib, sum(peak for _, peak in alive))
        self._note_ended({pid: at_s for pid, _ in alive})
        return True

    def _note_ended(self, alive_at_s: dict[int, float]) -> None:
        now_s = time.monotonic()
        ended = self._alive_at_s.keys() - alive_at_s.keys()
        self.late = self.late or any(now_s - self._alive_at_s[pid] > LATE_S for pid in ended)
        self._alive_at_s = alive_at_s


def _descendants(pid: int) -> dict[int, int]:
    """Find the descendants of a process: id -> id of the process that started it."""
    found: dict[int, int] = {}
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        children = _children(parent)
        found.update(dict.fromkeys(children, parent))
        waiting += children
    return found


def _children(pid: int) -> list[int]:
    """List the children of all threads of a process; Linux keeps one list per thread."""
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                children += map(int, file.read().split())
    except OSError:  # it ended meanwhile
        pass
    return children


def _read_peak_kib(pid: int | str) -> int:
    """Read VmHWM; 0 if the process has ended."""
    try:
        with open(f"/proc/{pid}/status", errors="replace") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def run(path: str) -> None:
    """Start a program, watch it until it ends, write its peak, and exit as it did."""
    with open(path, "rb") as file:
        argv, environment, report = marshal.load(file)
    # Python ignores these signals; a program expects the system's defaults.
    defaults = [getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name)]
    pid = os.posix_spawn(argv[0], argv, environment, setsigdef=defaults)
    tree = Tree(os.getpid(), set())
    ended, restless_until_s = 0, time.monotonic() + RESTLESS_S
    while not ended:
        tree.look()
        ended, status, used = os.wait4(pid, os.WNOHANG)
        if not ended and time.monotonic() > restless_until_s:
            time.sleep(PAUSE_S)
    largest_kib = used.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    # A child starts at this program's size: only more than that is the child's own memory.
    own_kib = _read_peak_kib("self")
    peak_kib = max(tree.peak_kib, largest_kib if largest_kib > own_kib else 0)
    with open(report, "w", encoding="ascii") as file:
        file.write(str(peak_kib if peak_kib >= LEAST_KIB else largest_kib))
    _end_alike(os.waitstatus_to_exitcode(status))


def _end_alike(code: int) -> None:
    """Exit with a program's exit code, or by the signal that ended it."""
    if code < 0:
        if -code != signal.SIGKILL:  # which has no handler to reset
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def watch(pid: int, left_out: set[int]) -> None:
    """Watch a process's descendants until a line can be read from standard input, or the process has ended.

    Print their peak in KiB, their number, and 1 if one of them was not read just before its end.
    """
    import select

    tree = Tree(pid, {*left_out, os.getpid()})
    print("ready", flush=True)
    while tree.look() and not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        pass
    tree.look()
    print(tree.peak_kib, len(tree.seen), int(tree.late), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2])
    else:
        watch(int(sys.argv[2]), set(map(int, sys.argv[3:])))

"""Read the CPU time and memory used by real processes, which warm a simulated phone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process and its descendants, including exited ones; 0 if it does not exist."""
    import psutil

    total_s = 0.0
    for one in _tree(pid):
        with contextlib.suppress(psutil.Error):
            total_s += sum(psutil.Process(one).cpu_times()[:4])  # its own and exited children's, user and system
    return total_s


def memory_kib(pid: int) -> tuple[int, int, int] | None:
    """Return the proportional, resident and swapped memory of a process in KiB; None if it does not exist."""
    import psutil

    try:
        sizes = psutil.Process(pid).memory_full_info()
    except psutil.Error:
        return None
    return getattr(sizes, "pss", sizes.rss) // 1024, sizes.rss // 1024, getattr(sizes, "swap", 0) // 1024


def find_process(first: int, pid: int) -> int | None:
    """Find a process of a phone by its process id there.

    Args:
        first: Process id of the phone's first process on this machine.
        pid: Process id on the phone.
    """
    return next((one for one in _tree(first) if _number_inside(one) == pid), None)


def _number_inside(pid: int) -> int | None:
    """Return the process id that a process has in its own namespace (proc(5), NSpid)."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines():
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    return None


def _tree(pid: int) -> Iterator[int]:
    """Yield a process and its descendants. The kernel's list of children avoids reading every process."""
    tasks = Path(f"/proc/{pid}/task")
    if not Path("/proc/self/task").exists():
        yield from _tree_by_search(pid)
        return
    yield pid
    with contextlib.suppress(OSError):  # exited in the meantime
        for task in tasks.iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))


def _tree_by_search(pid: int) -> Iterator[int]:
    import psutil

    with contextlib.suppress(psutil.Error):
        top = psutil.Process(pid)
        yield from (pid, *(child.pid for child in top.children(recursive=True)))

"""CPU time and memory that real processes used: those by which a simulated phone warms."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


def cpu_s(pid: int) -> float:
    """CPU time of a process and of all it started, ended ones included; 0 where it is gone."""
    import psutil

    total_s = 0.0
    for one in _tree(pid):
        with contextlib.suppress(psutil.Error):
            total_s += sum(psutil.Process(one).cpu_times()[:4])  # own and ended children's, user and system
    return total_s


def memory_kib(pid: int) -> tuple[int, int, int] | None:
    """Proportional, resident and swapped memory of a process in KiB; None where there is no such process."""
    import psutil

    try:
        sizes = psutil.Process(pid).memory_full_info()
    except psutil.Error:
        return None
    return getattr(sizes, "pss", sizes.rss) // 1024, sizes.rss // 1024, getattr(sizes, "swap", 0) // 1024


def find_process(first: int, pid: int) -> int | None:
    """Find a process of a phone by its number there.

    Args:
        first: The phone's first process, as this machine counts.
        pid: Number on the phone.
    """
    return next((one for one in _tree(first) if _number_inside(one) == pid), None)


def _number_inside(pid: int) -> int | None:
    """Tell the number that a process has in its own namespace (proc(5), NSpid)."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines():
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    return None


def _tree(pid: int) -> Iterator[int]:
    """A process and its descendants. The kernel's own list of children spares a look at every process."""
    tasks = Path(f"/proc/{pid}/task")
    if not Path("/proc/self/task").exists():
        yield from _tree_by_search(pid)
        return
    yield pid
    with contextlib.suppress(OSError):  # gone meanwhile
        for task in tasks.iterdir():
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))


def _tree_by_search(pid: int) -> Iterator[int]:
    import psutil

    with contextlib.suppress(psutil.Error):
        top = psutil.Process(pid)
        yield from (pid, *(child.pid for child in top.children(recursive=True)))

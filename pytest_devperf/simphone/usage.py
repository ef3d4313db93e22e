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


def belonging_to(mark: str) -> list[int]:
    """Processes that hold this `NAME=value` in their environment."""
    if Path("/proc/self/environ").exists():
        return list(_marked_in_proc(mark.encode()))
    import psutil

    name, _, value = mark.partition("=")
    mine = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # gone meanwhile, or somebody else's
            if process.environ().get(name) == value:
                mine.append(process.pid)
    return mine


def _marked_in_proc(mark: bytes) -> Iterator[int]:
    """The same on Linux, ten times as quick."""
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


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

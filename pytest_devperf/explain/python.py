"""Profile Python calls: exact counts, and the CPU time of each function, by the profiler of the standard library.

The calling thread's CPU time is the clock: a thread that loses its CPU then charges no function for it. What a
function spends in C is its own time, since that is what a developer can change.
"""

from __future__ import annotations

import cProfile
import platform
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from types import CodeType
from typing import Any

from pytest_devperf.explain.profile import CallCost, Edge, Profile, ProfileClock, Row

PASSES = 3
"""Profiled passes of a process start; each function keeps its lowest time, since disturbances only add."""

MOST_FUNCTIONS = 2000
"""Functions of a stored profile: public packages had 21 to 265 of them, and a run document has many cases. All are
kept that were called, since a function that takes no time now may be called a thousand times as often later."""

CALIBRATION_CALLS = 2000
"""Calls of an empty function, about a millisecond in all, from which the profiler's own cost is taken."""

INNER = re.compile(r"(\.<locals>\.<(genexpr|listcomp|setcomp|dictcomp)>(#\d+)?)+$")
"""What stands in a function and is none to its reader; since Python 3.12 most of them are part of its code."""

OWN_FOLDER = str(PurePath(__file__).parents[1])
"""Functions of this package stand around the workload and are left out."""

MOST_STEP_NS = 1000
"""Longest step of a clock of CPU time with which functions are timed: on Windows it is a tick of 16 ms."""


class SlotTaken(Exception):
    """Another profiler or coverage tool is active: an interpreter has room for one."""


@dataclass(slots=True)
class FunctionTable:
    """What the profiler counted over several iterations, by function."""

    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    self_ns: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    inner: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Calls of generator expressions and comprehensions, by the function that they stand in."""
    edges: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))


class CallProfiler:
    """Profiles blocks of this thread."""

    def __init__(self, clock: ProfileClock = "cpu") -> None:
        timer = time.thread_time_ns if clock == "cpu" else time.perf_counter_ns
        self._profile = cProfile.Profile(timer, 1e-9, builtins=False)  # timeunit: a count of the timer in seconds

    def start(self) -> None:
        """Begin or resume.

        Raises:
            SlotTaken: Another profiler is active.
        """
        if sys.version_info < (3, 12) and sys.getprofile() is not None:
            raise SlotTaken
        try:
            self._profile.enable()
        except ValueError:
            raise SlotTaken from None

    def stop(self) -> None:
        """Pause."""
        self._profile.disable()

    def entries(self) -> Sequence[Any]:
        """Return what was counted so far, by code object."""
        return [entry for entry in self._profile.getstats() if isinstance(entry.code, CodeType)]


def function_table(entries: Iterable[Any], files: Mapping[str, str]) -> FunctionTable:
    """Convert what the profiler counted to a table by name.

    Args:
        entries: Entries of `_lsprof`, with their code objects.
        files: Name of each source file by its path in code objects.
    """
    kept = [entry for entry in entries if not entry.code.co_filename.startswith(OWN_FOLDER)]
    names = names_of([entry.code for entry in kept], files)
    table = FunctionTable()
    for entry in kept:
        name = _around(names[entry.code])
        if name == names[entry.code]:
            table.calls[name] += entry.callcount
        else:
            table.calls[name] += 0
            table.inner[name] += entry.callcount
        table.self_ns[name] += entry.inlinetime * 1e9
        for callee in entry.calls or ():
            if callee.code in names and _around(names[callee.code]) == names[callee.code]:
                table.edges[name, names[callee.code]] += callee.callcount
    return table


def _around(name: str) -> str:
    """Return the function around a generator expression or a comprehension; the function itself otherwise.

    >>> _around("shop/cart.py total.<locals>.<genexpr>")
    'shop/cart.py total'
    """
    return INNER.sub("", name)


def names_of(codes: Iterable[CodeType], files: Mapping[str, str]) -> dict[CodeType, str]:
    """Name functions so that the name outlives an edit elsewhere in the file: file and qualified name, no line.

    Functions of one name in one file (lambdas, methods before Python 3.11) are numbered in their order.
    """
    groups: dict[tuple[str, str], list[CodeType]] = defaultdict(list)
    for code in codes:
        qualified = getattr(code, "co_qualname", code.co_name)
        groups[files.get(code.co_filename, code.co_filename), qualified].append(code)
    names: dict[CodeType, str] = {}
    for (file, qualified), members in groups.items():
        lines = sorted({code.co_firstlineno for code in members})
        for code in members:
            at = lines.index(code.co_firstlineno)
            names[code] = f"{file} {qualified}" + (f"#{at + 1}" if at else "")
    return names


def files_of(modules: Mapping[str, Any], paths: Iterable[str]) -> dict[str, str]:
    """Name source files by their modules: `shop/cart.py`, wherever it is installed.

    Args:
        modules: The interpreter's modules by name.
        paths: Files to name.
    """
    by_file: dict[str, str] = {}
    for name, module in modules.items():
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and name != "__main__":
            known = by_file.get(path)
            by_file[path] = name if known is None else min(known, name, key=len)
    return {path: _file_name(path, by_file.get(path)) for path in paths}


def _file_name(path: str, module: str | None) -> str:
    if module is None:
        return path if path.startswith("<") else PurePath(path).name
    whole = module.replace(".", "/")
    return f"{whole}/__init__.py" if PurePath(path).name == "__init__.py" else f"{whole}.py"


def call_cost(clock: ProfileClock) -> CallCost:
    """Measure what the profiler itself costs per call, on this machine now.

    Raises:
        SlotTaken: Another profiler is active.
    """

    def empty() -> None: ...

    def calling() -> None:
        for _ in range(CALIBRATION_CALLS):
            empty()

    plain_ns, callee_ns, caller_ns = [], [], []
    timer = time.thread_time_ns if clock == "cpu" else time.perf_counter_ns
    for _ in range(PASSES):
        began = timer()
        calling()
        plain_ns.append(timer() - began)
        profiler = CallProfiler(clock)
        profiler.start()
        calling()
        profiler.stop()
        took = {entry.code.co_name: entry.inlinetime * 1e9 for entry in profiler.entries()}
        callee_ns.append(took["empty"])
        caller_ns.append(took["calling"])
    callee, caller = min(callee_ns), min(caller_ns) - min(plain_ns)
    return CallCost(callee / CALIBRATION_CALLS, max(0.0, caller) / CALIBRATION_CALLS)


def profile_of(
    tables: Sequence[FunctionTable],
    *,
    metric: str,
    iterations: int,
    plain_ns: float,
    clock: ProfileClock,
    cost: CallCost | None,
    problem: str | None,
) -> Profile:
    """Put the passes of one process start together: lowest time and exact count of each function, per iteration."""
    calls = {name: count for table in tables for name, count in table.calls.items()}
    times = {name: min(table.self_ns.get(name, 0.0) for table in tables) / iterations for name in calls}
    names = sorted(calls, key=lambda name: -times[name])[:MOST_FUNCTIONS]
    places = {name: place for place, name in enumerate(names)}
    exact = {name: all(table.calls.get(name, 0) == calls[name] for table in tables) for name in names}
    return Profile(
        metric=metric,
        runtime=f"{platform.python_implementation()} {platform.python_version()}",
        clock=clock,
        iterations=iterations,
        plain_ns=plain_ns,
        call_cost=None if cost is None else CallCost(round(cost.callee, 1), round(cost.caller, 1)),
        problem=problem,
        rows=tuple(
            Row(
                name,
                _per(calls[name], iterations) if exact[name] else None,
                (round(times[name], 1),),
                _per(tables[0].inner.get(name, 0), iterations),
            )
            for name in names
        ),
        edges=tuple(
            Edge(places[caller], places[callee], _per(count, iterations))
            for (caller, callee), count in (tables[0].edges.items() if tables else ())
            if caller in places and callee in places
        ),
    )


def _per(count: int, iterations: int) -> float:
    return count // iterations if not count % iterations else count / iterations

"""The profile of a workload: how often each function was called, or each node executed, and its own time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

ProfileKind = Literal["functions", "nodes"]
"""Functions of Python, or nodes (operators) of a model."""

ProfileClock = Literal["cpu", "wall"]
"""What the times are of: the CPU time of the calling thread, or wall time."""

EXACT = 1e-6
"""Largest difference of two counts per iteration that are equal: they are quotients of whole numbers."""


class Row(NamedTuple):
    """One function or node, per iteration."""

    name: str
    calls: float | None
    """None: it differs between the process starts."""
    self_ns: tuple[float, ...]
    """Its time without that of what it calls, in each process start."""
    inner: float = 0.0
    """Calls of generator expressions and comprehensions in it, whose time is part of its own."""
    detail: str = ""
    """Of a node: the shapes of its inputs, and its provider if that is not the CPU's."""


class Edge(NamedTuple):
    """How often one function calls another, per iteration; both are places in the rows."""

    caller: int
    callee: int
    calls: float


class CallCost(NamedTuple):
    """What the profiler itself costs per call, in ns."""

    callee: float
    """Added to the function that is called."""
    caller: float
    """Added to the function that calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Where the time of one metric goes."""

    metric: str
    kind: ProfileKind = "functions"
    runtime: str
    """What ran it, with its version: times of another one are not compared."""
    clock: ProfileClock = "cpu"
    iterations: int
    """Iterations that each process start profiled at a time."""
    plain_ns: float
    """Time of an iteration without a profiler."""
    call_cost: CallCost | None = None
    problem: str | None = None
    """Why it does not show where the time goes; None if it does."""
    rows: tuple[Row, ...] = ()
    edges: tuple[Edge, ...] = ()

    @property
    def starts(self) -> int:
        """Number of process starts that were profiled."""
        return len(self.rows[0].self_ns) if self.rows else 0


def merge(profiles: Sequence[Profile]) -> Profile:
    """Put the profiles of several process starts of the same code together; counts are kept if all agree.

    Args:
        profiles: At least one, all of the same metric.
    """
    first = profiles[0]
    if len(profiles) == 1:
        return first
    names = list(dict.fromkeys(row.name for profile in profiles for row in profile.rows))
    tables = [{row.name: row for row in profile.rows} for profile in profiles]
    rows = tuple(_merged_row(name, tables, profiles) for name in names)
    return replace(
        first,
        plain_ns=min(profile.plain_ns for profile in profiles),
        call_cost=_merged_cost([profile.call_cost for profile in profiles if profile.call_cost is not None]),
        problem=next((profile.problem for profile in profiles if profile.problem), None),
        rows=rows,
        edges=_merged_edges(profiles, {name: place for place, name in enumerate(names)}),
    )


def _merged_cost(costs: Sequence[CallCost]) -> CallCost | None:
    return CallCost(min(each.callee for each in costs), min(each.caller for each in costs)) if costs else None


def _merged_row(name: str, tables: Sequence[dict[str, Row]], profiles: Sequence[Profile]) -> Row:
    found = [table.get(name) for table in tables]
    calls = {None if row is None else row.calls for row in found}
    known = [each for each in calls if each is not None]
    agreed = len(known) == len(calls) and max(known) - min(known) <= EXACT
    times: list[float] = []
    for row, profile in zip(found, profiles, strict=True):
        times += row.self_ns if row is not None else [0.0] * profile.starts
    some = next(row for row in found if row is not None)
    return Row(name, known[0] if agreed else None, tuple(times), some.inner, some.detail)


def _merged_edges(profiles: Sequence[Profile], places: dict[str, int]) -> tuple[Edge, ...]:
    """Keep the edges that all profiles agree on."""
    counts: list[dict[tuple[int, int], float]] = [
        {
            (places[profile.rows[edge.caller].name], places[profile.rows[edge.callee].name]): edge.calls
            for edge in profile.edges
        }
        for profile in profiles
    ]
    return tuple(
        Edge(*key, calls)
        for key, calls in counts[0].items()
        if all(abs(other.get(key, -1.0) - calls) <= EXACT for other in counts[1:])
    )


def file_of(name: str) -> str:
    """Return the file of a function's name.

    >>> file_of("shop/cart.py Cart.total")
    'shop/cart.py'
    """
    return name.partition(" ")[0]

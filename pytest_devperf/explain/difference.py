"""The difference of two profiles of the same work, by code of before and of now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_devperf import stats
from pytest_devperf.explain.attribution import attribute, parents_of
from pytest_devperf.explain.nodes import align
from pytest_devperf.explain.profile import EXACT, CallCost, Profile, ProfileKind, Row, file_of

MOST_WEIGHT: Mapping[ProfileKind, float] = {"functions": 0.10, "nodes": 0.05}
"""Largest share of one row in the ratio of the machine's speed: in an uncapped median, the one function that takes
half of the time would be the ratio, and its own slowdown would be explained away."""

LEAST_EVIDENCE = 3.0
"""Rows of the largest weight that the ratio needs, so that it is never that of one row."""

COST_RANGE = 0.7, 1.5
"""Least and largest correction of the profiler's calibrated cost. What lies beyond is no error of the calibration: the
profile then shows something else than the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """How a function or node changed, per iteration."""

    name: str
    deltas_ns: tuple[float, ...]
    """Growth of its own time for each pair of process starts of the old and the new code, without the profiler's own
    cost and without what the machine was faster or slower by."""
    calls: tuple[float, float] | None = None
    """Before and now; None if that is not certain."""
    detail: str = ""
    other_nodes: bool = False
    """Whether other nodes are executed than before."""
    cost_ns: float = 0.0
    """What the profiler itself costs for the calls that are more than before, those that it causes included."""
    works_more: bool = False
    """Whether it certainly makes other calls than before, or its generator expressions have other numbers of items."""

    @property
    def delta_ns(self) -> float:
        """The growth over all pairs."""
        return stats.mean(self.deltas_ns)

    @property
    def counts_differ(self) -> bool:
        """Whether it is certain that it is called more or less often."""
        return self.calls is not None and abs(self.calls[1] - self.calls[0]) > EXACT


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What changed between two profiles, the largest growth first."""

    rows: tuple[RowChange, ...] = ()
    callers: Mapping[str, str] = field(default_factory=dict)
    """The function whose calls of another one grew most, by the name of the called function."""

    @property
    def delta_ns(self) -> float:
        """The growth of all rows together."""
        return sum(row.delta_ns for row in self.rows)


def differ(old: Profile, new: Profile, delta_ns: float | None = None) -> Difference:
    """Subtract a profile from a newer one, for each pair of their process starts.

    Args:
        old: The profile of the code of before.
        new: The profile of the code of now.
        delta_ns: The growth that was measured without a profiler, by which the profiler's own cost is corrected.
    """
    blocks: frozenset[str] = frozenset()
    if new.kind == "nodes":
        old, new, blocks = align(old, new)
    before, now = ({row.name: row for row in profile.rows} for profile in (old, new))
    names = list(dict.fromkeys((*now, *before)))
    deltas = _deltas(old, new, names, delta_ns)
    costs = attribute(_costs(old, new, names), parents_of(old, new))
    rows = [
        RowChange(
            name=name,
            deltas_ns=tuple(deltas[name]),
            calls=None if name in blocks else _calls_of(before.get(name), now.get(name)),
            detail=_detail(before.get(name), now.get(name)),
            other_nodes=name in blocks,
            cost_ns=costs[name],
            works_more=name in before and name in now and _made(old, name) != _made(new, name),
        )
        for name in names
    ]
    callers = _callers(old, new)
    if new.kind == "functions":
        rows = list(_with_renamed(_with_loops(rows, callers), before, now))
    return Difference(rows=tuple(sorted(rows, key=lambda row: -row.delta_ns)), callers=callers)


def sums_by_file(rows: Iterable[RowChange]) -> list[RowChange]:
    """Add the changes of the functions of each file, the largest growth first."""
    groups: dict[str, list[RowChange]] = defaultdict(list)
    for row in rows:
        groups[file_of(row.name)].append(row)
    sums = [RowChange(name=file, deltas_ns=_sums(members)) for file, members in groups.items()]
    return sorted(sums, key=lambda row: -row.delta_ns)


def _deltas(old: Profile, new: Profile, names: Sequence[str], delta_ns: float | None) -> Mapping[str, Sequence[float]]:
    """Determine how much each row grew, for each pair of process starts."""
    before, now = ({row.name: row for row in profile.rows} for profile in (old, new))
    costs = _costs(old, new, names)
    parents = parents_of(old, new)
    deltas: dict[str, list[float]] = {name: [] for name in names}
    for i in range(old.starts):
        for j in range(new.starts):
            speed = _speed(before, now, i, j, kind=new.kind, fallback=_calibrated(old, new))
            raw = {name: _time(now.get(name), j) - speed * _time(before.get(name), i) for name in names}
            scale = _cost_scale(sum(raw.values()), sum(costs.values()), delta_ns)
            grown = {name: raw[name] - scale * costs[name] for name in names}
            for name, delta in attribute(grown, parents).items():
                deltas[name].append(delta)
    return deltas


def _time(row: Row | None, start: int) -> float:
    return row.self_ns[start] if row is not None else 0.0


def _made(profile: Profile, name: str) -> tuple[float, float]:
    """Count the calls that a function makes, and the items of its generator expressions."""
    places = {row.name: place for place, row in enumerate(profile.rows)}
    calls = (
        edge.calls for edge in profile.edges if edge.caller == places[name] and _is_counted(profile.rows[edge.callee])
    )
    return sum(calls), profile.rows[places[name]].inner


def _is_counted(row: Row) -> bool:
    return row.calls is not None


def _calls_of(before: Row | None, now: Row | None) -> tuple[float, float] | None:
    then, since = (0.0 if row is None else row.calls for row in (before, now))
    return None if then is None or since is None else (then, since)


def _detail(before: Row | None, now: Row | None) -> str:
    """Describe what a node works on, if that changed."""
    then, since = (row.detail if row is not None else "" for row in (before, now))
    return f"{then} -> {since}" if then and since and then != since else ""


def _costs(old: Profile, new: Profile, names: Iterable[str]) -> dict[str, float]:
    """Determine what the profiler itself adds to each function, where that is called or calls more often than before.

    Where counts are equal it adds the same on both sides; there a correction would only add its error.
    """
    cost = new.call_cost or old.call_cost or CallCost(0.0, 0.0)
    more = dict.fromkeys(names, 0.0)
    for profile, sign in ((old, -1.0), (new, 1.0)):
        for row in profile.rows:
            inner = sign * row.inner
            more[row.name] += (sign * (row.calls or 0.0) + inner) * cost.callee + inner * cost.caller
        for edge in profile.edges:
            if profile.rows[edge.callee].calls is not None:
                more[profile.rows[edge.caller].name] += sign * edge.calls * cost.caller
    unknown = {row.name for profile in (old, new) for row in profile.rows if row.calls is None}
    return {name: 0.0 if name in unknown else delta_ns for name, delta_ns in more.items()}


def _cost_scale(raw_ns: float, cost_ns: float, delta_ns: float | None) -> float:
    """Choose how much the calibrated cost of the profiler is corrected so that the growth is the measured one.

    Resumed generators cost the profiler less than calls, and a function that does little takes less time than the
    error of that cost.
    """
    if delta_ns is None or not cost_ns:
        return 1.0
    low, high = COST_RANGE
    return max(low, min(high, (raw_ns - delta_ns) / cost_ns))


def _speed(
    before: Mapping[str, Row], now: Mapping[str, Row], i: int, j: int, *, kind: ProfileKind, fallback: float
) -> float:
    """Compare the speeds of the machine: the median ratio of the rows that do the same equally often."""
    most = MOST_WEIGHT[kind] * sum(row.self_ns[i] for row in before.values())
    pairs = []
    for name, row in before.items():
        other = now.get(name)
        calls = _calls_of(row, other)
        if other is None or calls is None or abs(calls[1] - calls[0]) > EXACT or _detail(row, other):
            continue
        if row.self_ns[i] > 0 and other.self_ns[j] > 0:
            pairs.append((other.self_ns[j] / row.self_ns[i], min(row.self_ns[i], most)))
    if sum(weight for _, weight in pairs) < LEAST_EVIDENCE * most:
        return fallback
    return _weighted_median(pairs)


def _calibrated(old: Profile, new: Profile) -> float:
    """Compare the speeds of the machine by the profiler's own cost, if both profiles know it."""
    if old.call_cost is None or new.call_cost is None:
        return 1.0
    return sum(new.call_cost) / sum(old.call_cost)


def _weighted_median(pairs: Sequence[tuple[float, float]]) -> float:
    half = sum(weight for _, weight in pairs) / 2
    so_far = 0.0
    for value, weight in sorted(pairs):
        so_far += weight
        if so_far >= half:
            return value
    return 1.0


def _with_loops(rows: Sequence[RowChange], callers: Mapping[str, str]) -> list[RowChange]:
    """Join a function that is called more often with the loop that calls it.

    The profiler takes longer for a call than a short function does, and how much of that the caller bears is not exact:
    only both together show the growth.
    """
    by_name = {row.name: row for row in rows}
    loops: dict[str, str] = {}
    for row in rows:
        caller = by_name.get(callers.get(row.name, ""))
        if caller is not None and row.counts_differ and caller.works_more and not caller.counts_differ:
            known = by_name.get(loops.get(caller.name, ""))
            if known is None or _more_calls(row) > _more_calls(known):
                loops[caller.name] = row.name
    called = {callee: caller for caller, callee in loops.items()}
    joined = [_joined(row, by_name[called[row.name]]) if row.name in called else row for row in rows]
    return [row for row in joined if row.name not in loops]


def _joined(row: RowChange, other: RowChange) -> RowChange:
    return replace(row, deltas_ns=_sums((row, other)), cost_ns=row.cost_ns + other.cost_ns)


def _more_calls(row: RowChange) -> float:
    return row.calls[1] - row.calls[0] if row.calls is not None else 0.0


def _sums(rows: Iterable[RowChange]) -> tuple[float, ...]:
    return tuple(map(sum, zip(*(row.deltas_ns for row in rows), strict=True)))


def _with_renamed(rows: Sequence[RowChange], before: Mapping[str, Row], now: Mapping[str, Row]) -> Iterable[RowChange]:
    """Join what a file no longer has with what it has instead: a renamed function is no growth."""
    gone: dict[str, list[RowChange]] = defaultdict(list)
    added: dict[str, list[RowChange]] = defaultdict(list)
    for row in rows:
        if row.name not in now:
            gone[file_of(row.name)].append(row)
        elif row.name not in before:
            added[file_of(row.name)].append(row)
    joined = {file for file in gone if file in added}
    for row in rows:
        if file_of(row.name) not in joined or (row.name in before and row.name in now):
            yield row
    for file in joined:
        members = [*added[file], *gone[file]]
        names = ", ".join(_own_name(row.name) for row in added[file])
        was = ", ".join(_own_name(row.name) for row in gone[file])
        yield RowChange(
            name=f"{file} {names} (was {was})",
            deltas_ns=_sums(members),
        )


def _own_name(name: str) -> str:
    return name.partition(" ")[2] or name


def _callers(old: Profile, new: Profile) -> dict[str, str]:
    """Find who calls a function more often than before."""
    then = {(old.rows[edge.caller].name, old.rows[edge.callee].name): edge.calls for edge in old.edges}
    found: dict[str, tuple[float, str]] = {}
    for edge in new.edges:
        caller, callee = new.rows[edge.caller].name, new.rows[edge.callee].name
        more = edge.calls - then.get((caller, callee), 0.0)
        if more > EXACT and caller != callee and more > found.get(callee, (0.0, ""))[0]:
            found[callee] = more, caller
    return {callee: caller for callee, (_, caller) in found.items()}

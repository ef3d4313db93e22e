"""Name the functions or nodes that make up a measured change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from pytest_devperf.explain.difference import Difference, RowChange, differ, sums_by_file
from pytest_devperf.explain.profile import Profile

CauseKind = Literal["function", "file", "node"]

MOST_CAUSES = 3
"""Causes that are named: more would describe the program, not the change."""

LEAST_SHARE = 0.25
"""Least part of the measured change that a cause makes up in every pair of process starts."""

LEAST_OF_WHOLE: Mapping[CauseKind, float] = {"function": 0.03, "file": 0.05, "node": 0.01}
"""Least part of the whole time: with a load of 20 on two CPUs, the largest growth of an unchanged function was above
3 % in 2 of 110 pairs of profiles, and that of an unchanged file never above 5 %."""

LEAST_BESIDE_CERTAIN = 0.5
"""Least part of the change that a guess makes up if a certain cause is named."""

LEAST_OF_CALLS = 0.5
"""Least part of all further calls that makes a function the cause by its count alone."""

LEAST_REPEATED = 0.5
"""Least part of the measured change that the profiles repeat; else they show something else than the change."""

LEAST_OF_WHOLE_APART = 0.10
"""The same for a guess by times alone if old and new were not measured in turns."""

LEAST_NODE_NS = 5_000.0
"""Least growth of a node: its times are whole microseconds."""

ExplainMode = Literal["auto", "off", "all"]
"""Which changes are explained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredChange:
    """A change of a time that was measured without any profiler."""

    metric: str
    delta_ns: float
    """Per iteration; negative if it became faster."""
    in_turns: bool
    """Whether old and new code were profiled in turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A function, file or node that makes up a part of a change."""

    name: str
    kind: CauseKind
    share: float | None
    """Its part of the change, up to 1; None: it is called so much more often that the profiler hides its time."""
    certain: bool
    """Whether it is certain that it works differently: it is called more often, or on other shapes. Else its time
    is a guess."""
    calls: tuple[float, float] | None = None
    """Calls per iteration before and now, if they differ."""
    caller: str | None = None
    """The function that calls it more often."""
    detail: str = ""
    """Of a node: its shapes before and now, if they differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Where the time of a change went."""

    metric: str
    causes: tuple[Cause, ...] = ()
    """The largest first; empty if nothing stands out."""
    spread: bool = False
    """Whether the causes are files over whose functions the change is spread."""
    reason: str | None = None
    """Why no cause is named; None if one is."""


def explain(old: Profile, new: Profile, change: MeasuredChange) -> Explanation:
    """Name what makes up a change, or return the reason why nothing is named."""
    problem = new.problem or old.problem
    if problem is None and not (old.rows and new.rows):
        problem = "no function of Python takes part" if new.kind == "functions" else "no node was timed"
    if problem is not None:
        return Explanation(metric=change.metric, reason=problem)
    difference = differ(old, new, change.delta_ns)
    sign = 1.0 if change.delta_ns > 0 else -1.0
    whole = _Whole(old, new, change, repeated_ns=sign * difference.delta_ns, sign=sign)
    causes = _without_guesses([whole.cause(row, difference) for row in whole.named(difference.rows)])
    if not any(cause.certain for cause in causes):
        causes = [whole.counted(row, difference) for row in whole.much_called(difference.rows)] or causes
    if causes:
        return Explanation(metric=change.metric, causes=tuple(causes))
    if whole.repeated_ns < LEAST_REPEATED * abs(change.delta_ns):
        return Explanation(
            metric=change.metric,
            reason=f"the profile does not show it ({100 * whole.repeated_ns / abs(change.delta_ns):+.0f} % of it)",
        )
    if new.kind == "functions":
        files = [whole.cause(row, difference) for row in whole.named(sums_by_file(difference.rows))]
        if files:
            return Explanation(metric=change.metric, causes=tuple(files), spread=True)
    return Explanation(metric=change.metric, reason="nothing stands out")


def _without_guesses(causes: Sequence[Cause]) -> list[Cause]:
    """Leave small guesses out beside a certain cause: what runs before and after it often takes longer as well."""
    certain = any(cause.certain for cause in causes)
    return [cause for cause in causes if cause.certain or not certain or (cause.share or 0.0) >= LEAST_BESIDE_CERTAIN]


@dataclass(frozen=True, slots=True)
class _Whole:
    """The change against which each row is held."""

    old: Profile
    new: Profile
    change: MeasuredChange
    repeated_ns: float
    """What the profiles show of the change."""
    sign: float

    def named(self, rows: Sequence[RowChange]) -> list[RowChange]:
        """Choose the rows that are large enough, the largest first."""
        least_ns = LEAST_SHARE * self.repeated_ns
        found = [
            row
            for row in rows
            if min(self.sign * each for each in row.deltas_ns) >= self._least_ns(row)
            and self.sign * row.delta_ns >= least_ns
        ]
        return sorted(found, key=lambda row: -self.sign * row.delta_ns)[:MOST_CAUSES]

    def _least_ns(self, row: RowChange) -> float:
        if self.old.runtime != self.new.runtime and not self._is_certain(row):
            return inf  # another interpreter or runtime has other times for the same code
        of_whole = (
            LEAST_OF_WHOLE[self._kind(row)] if self.change.in_turns or self._is_certain(row) else LEAST_OF_WHOLE_APART
        )
        least = max(LEAST_SHARE * abs(self.change.delta_ns), of_whole * self.old.plain_ns)
        return max(least, LEAST_NODE_NS) if self.new.kind == "nodes" else least

    def _kind(self, row: RowChange) -> CauseKind:
        if self.new.kind == "nodes":
            return "node"
        return "function" if " " in row.name else "file"

    def _is_certain(self, row: RowChange) -> bool:
        return row.counts_differ or row.works_more or row.other_nodes or bool(row.detail)

    def much_called(self, rows: Sequence[RowChange]) -> list[RowChange]:
        """Choose rows by their counts alone, if the profiler's cost for further calls is larger than the change."""
        costs = {row.name: self.sign * row.cost_ns for row in rows}
        whole_ns = sum(cost for cost in costs.values() if cost > 0)
        if whole_ns < abs(self.change.delta_ns):
            return []
        return [row for row in rows if self._is_certain(row) and costs[row.name] >= LEAST_OF_CALLS * whole_ns]

    def counted(self, row: RowChange, difference: Difference) -> Cause:
        """Describe a row that is named by its count alone."""
        return replace(self.cause(row, difference), share=None)

    def cause(self, row: RowChange, difference: Difference) -> Cause:
        """Describe a row that is named."""
        share = self.sign * row.delta_ns / max(self.repeated_ns, self.sign * row.delta_ns)
        return Cause(
            name=row.name,
            kind=self._kind(row),
            share=min(1.0, share),
            certain=self._is_certain(row),
            calls=row.calls if row.counts_differ else None,
            caller=difference.callers.get(row.name) if row.counts_differ and self.sign > 0 else None,
            detail=row.detail,
        )

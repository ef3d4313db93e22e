"""Render where the time of a metric goes, and what changed between two profiles."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_devperf import stats
from pytest_devperf.compare.where import format_count
from pytest_devperf.explain.difference import RowChange, differ, sums_by_file
from pytest_devperf.explain.profile import Profile, Row
from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.report.table import Column, lay_out
from pytest_devperf.report.units import NOT_KNOWN, format_percent, format_value

MOST_ROWS = 10
"""Functions or nodes that are shown: the others are in the files for viewers."""

_PROFILE = (
    Column(heading="function"),
    Column(heading="own time", number=True),
    Column(heading="part", number=True),
    Column(heading="calls", number=True),
)

_DIFFERENCE = (
    Column(heading="function"),
    Column(heading="before", number=True),
    Column(heading="now", number=True),
    Column(heading="growth", number=True),
    Column(heading="calls", number=True),
    Column(heading="called by", expendable=True),
)

_FILES = (Column(heading="file"), Column(heading="growth", number=True))


def profile_lines(profile: Profile, width: int) -> list[str]:
    """Render the functions or nodes of a profile, the longest own time first."""
    if profile.problem is not None:
        return [profile.problem]
    whole = sum(map(_own_ns, profile.rows)) or 1.0
    longest = sorted(profile.rows, key=lambda row: -_own_ns(row))[:MOST_ROWS]
    times_ns = [_own_ns(row) for row in longest]
    rows = [
        (row.name, _time(own_ns), format_percent(100 * own_ns / whole), _calls(row.calls))
        for row, own_ns in zip(longest, times_ns, strict=True)
    ]
    return lay_out(_PROFILE, rows, width)


def difference_lines(old: Profile, new: Profile, width: int) -> list[str]:
    """Render what grew or shrank most between two profiles of the same work, then the sums of the files."""
    problem = new.problem or old.problem
    if problem is not None:
        return [problem]
    difference = differ(old, new, new.plain_ns - old.plain_ns)
    before, now = ({row.name: row for row in profile.rows} for profile in (old, new))
    rows = [
        (
            change.name,
            _time(_own_ns(before.get(change.name))),
            _time(_own_ns(now.get(change.name))),
            _growth(change),
            _both_calls(change),
            difference.callers.get(change.name, "") if change.counts_differ else "",
        )
        for change in _largest(difference.rows)
    ]
    lines = lay_out(_DIFFERENCE, rows, width)
    if new.kind == "functions":
        files = [(change.name, _growth(change)) for change in _largest(sums_by_file(difference.rows))]
        lines += ["", *lay_out(_FILES, files, width)]
    return lines


def _largest(changes: Sequence[RowChange]) -> Sequence[RowChange]:
    return sorted(changes, key=lambda change: -abs(change.delta_ns))[:MOST_ROWS]


def _own_ns(row: Row | None) -> float:
    return stats.mean(row.self_ns) if row is not None and row.self_ns else 0.0


def _time(ns: float) -> str:
    return format_value(ns / NS_PER_MS, "ms") if ns else NOT_KNOWN


def _growth(change: RowChange) -> str:
    return f"{'+' if change.delta_ns >= 0 else '-'}{format_value(abs(change.delta_ns) / NS_PER_MS, 'ms')}"


def _calls(calls: float | None) -> str:
    return "varies" if calls is None else format_count(calls)


def _both_calls(change: RowChange) -> str:
    if change.calls is None:
        return "varies"
    before, now = map(format_count, change.calls)
    return f"{before} -> {now}" if change.counts_differ else now

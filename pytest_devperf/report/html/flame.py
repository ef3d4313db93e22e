"""The flame graph of a change that was explained, with the same in words and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_devperf.explain.flame import Frame, OwnTime, flame_of, own_times
from pytest_devperf.explain.profile import Profile
from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.record.record import Change, Record
from pytest_devperf.report.html.charts import shortened
from pytest_devperf.report.html.elements import Content, el
from pytest_devperf.report.html.figures import figure, key
from pytest_devperf.report.html.tables import table
from pytest_devperf.report.units import format_value, scale_for

ROWS = 15
"""Rows of the table: what follows is a small part of the change."""

MS = "ms"

ESTIMATE = (
    "The widths are an estimate: the profile holds callers and counts, and the time of a function is shared among its "
    "callers by their calls. Times under the profiler are scaled to the measured ones."
)
IN_ORDER = "The nodes are in the order of execution. Their times are scaled to the measured ones."


def flame_figure(name: str, record: Record, befores: Sequence[Record], numbers: dict[str, Any]) -> Content:
    """Write the place of the flame graph of a case; nothing if no change of it was profiled on both sides.

    Args:
        name: Id of its numbers.
        record: The case.
        befores: The case in the runs of its baseline, newest first.
        numbers: Takes the numbers that are drawn.
    """
    change = _explained(record)
    if change is None or change.baseline is None or change.candidate is None:
        return None
    new = _profile((record.profiles,), change.metric)
    old = _profile((record.profiles_before, *(before.profiles for before in befores)), change.metric)
    if new is None or old is None or new.kind != old.kind:
        return None
    sides_ns = change.baseline * NS_PER_MS, change.candidate * NS_PER_MS
    unit, size = scale_for(change.candidate, MS)
    root = flame_of(old, new, *sides_ns)
    numbers[name] = {"unit": unit, "files": new.kind == "functions", "frames": _numbers(root, size * NS_PER_MS)}
    nodes = new.kind == "nodes"
    rows = own_times(old, new, *sides_ns)[:ROWS]
    what = "node" if nodes else "function"
    largest = f"; {rows[0].name} changed most, by {_ms(rows[0].grown_ns)}" if rows else ""
    return el(
        "section",
        figure(
            name,
            "flame",
            [el("bdi", change.metric), ", where the time goes"],
            f"{_ms(sides_ns[0])} before, {_ms(sides_ns[1])} now{largest}. {IN_ORDER if nodes else ESTIMATE}",
            [
                key(("grew", "takes longer itself"), ("shrank", "takes less time itself"), ("same", "as before")),
                el(
                    "p",
                    "Click a frame to enlarge it, or use the arrow keys and Enter; Escape shows all.",
                    class_="keys",
                ),
            ],
            role="group",
        ),
        el(
            "details",
            el("summary", f"The {what}s as a table"),
            table(f"Own time of each {what}", [what, "own time", "change", "calls"], [_row(each) for each in rows]),
            class_="numbers",
        ),
    )


def _explained(record: Record) -> Change | None:
    comparison = record.comparison
    if comparison is None or comparison.explanation is None:
        return None
    metric = comparison.explanation.metric
    return next((change for change in comparison.changes if change.metric == metric and change.unit == MS), None)


def _profile(places: Sequence[Sequence[Profile]], metric: str) -> Profile | None:
    found = (each for profiles in places for each in profiles if each.metric == metric and each.rows)
    return next(found, None)


def _numbers(frame: Frame, size_ns: float) -> dict[str, Any]:
    """Write a frame as the library reads it: name, value, difference, children."""
    made: dict[str, Any] = {
        "n": frame.name,
        "v": shortened(frame.now_ns / size_ns),
        "d": shortened(frame.grown_ns / size_ns),
    }
    children = [_numbers(each, size_ns) for each in frame.frames.values() if each.now_ns > 0]
    return {**made, "c": children} if children else made


def _row(each: OwnTime) -> Sequence[str]:
    was, is_ = (_count(calls) for calls in each.calls)
    return each.name, _ms(each.now_ns), _ms(each.grown_ns), was if was == is_ else f"{was} -> {is_}"


def _count(calls: float | None) -> str:
    return "varies" if calls is None else f"{calls:g}"


def _ms(time_ns: float) -> str:
    return format_value(time_ns / NS_PER_MS, MS)

"""Read where the time of a model goes from the trace of onnxruntime, and align the nodes of two models."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

from pytest_devperf import stats
from pytest_devperf.explain.profile import Profile, Row
from pytest_devperf.metric import LONGEST_S, NS_PER_US
from pytest_devperf.untrusted import parse_json

KERNEL = "_kernel_time"
"""End of the name of an event that is the execution of a node.

Source: onnxruntime/core/framework/sequential_executor.cc.
"""

US_PER_S = 1e6

CPU = "CPUExecutionProvider"

MADE_BY_OPTIMISER = re.compile(r"(_nchwc|_token_\d+)+$")
"""Ends of names that onnxruntime's optimisers add, with numbers that change with every edit."""

NUMBER = re.compile(r"#\d+$")
"""Distinguishes nodes of the same name."""

COMMON = 0.3
"""Least share of common nodes with which two models are aligned by names: an exporter may have named all anew, and
then their operators are aligned."""


@dataclass(slots=True)
class _Node:
    op: str
    first_us: float
    detail: str
    times_us: list[float] = field(default_factory=list)


def read_trace(text: str) -> tuple[Row, ...]:
    """Read the trace of a session: each node in the order of execution, with the median of its own times.

    Raises:
        ValueError: It is no trace.
    """
    events = parse_json(text)
    if not isinstance(events, list):
        raise ValueError("no list of events")  # noqa: TRY004 - the text is wrong, not our types
    runs = sum(1 for event in events if _is(event, "Session") and event.get("name") == "model_run")
    nodes: dict[tuple[str, str, int], _Node] = {}
    for event, own_us in _own_times([event for event in events if _is_kernel(event)]):
        arguments = event["args"]
        op, name = str(arguments.get("op_name", "")), str(event["name"]).removesuffix(KERNEL)
        key = op, name, int(arguments.get("node_index", 0))
        node = nodes.setdefault(key, _Node(op=op, first_us=float(event["ts"]), detail=_detail(arguments)))
        node.times_us.append(own_us)
    rows, seen = [], dict[str, int]()
    for (op, name, _), node in sorted(nodes.items(), key=lambda item: item[1].first_us):
        label = _label(op, name)
        seen[label] = seen.get(label, 0) + 1
        number = f"#{seen[label]}" if seen[label] > 1 else ""
        calls = len(node.times_us) / max(1, runs)
        median_ns = stats.median(node.times_us) * calls * NS_PER_US
        rows.append(Row(label + number, calls, (round(median_ns, 1),), detail=node.detail))
    return tuple(rows)


def with_traces(profile: Profile, tables: Sequence[Sequence[Row]]) -> Profile:
    """Add the nodes of several sessions of one process start to a profile."""
    times: dict[str, list[float]] = defaultdict(list)
    for table in tables:
        for row in table:
            times[row.name] += row.self_ns
    rows = (row._replace(self_ns=tuple(times[row.name])) for row in tables[0] if len(times[row.name]) == len(tables))
    return replace(profile, rows=tuple(rows))


def align(old: Profile, new: Profile) -> tuple[Profile, Profile, frozenset[str]]:
    """Give nodes that belong together the same names, and put each block of other nodes into one row.

    Returns:
        Both profiles, and the names of the blocks.
    """
    matcher = _matcher(old.rows, new.rows)
    before: list[Row] = []
    now: list[Row] = []
    blocks = set()
    taken: set[str] = set()
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for row, other in zip(old.rows[a:b], new.rows[c:d], strict=True):
                name = _free(other.name, taken)
                before.append(row._replace(name=name))
                now.append(other._replace(name=name))
            continue
        name = _free(_block(old.rows[a:b], new.rows[c:d]), taken)
        blocks.add(name)
        before += _joined(name, old.rows[a:b])
        now += _joined(name, new.rows[c:d])
    return replace(old, rows=tuple(before)), replace(new, rows=tuple(now)), frozenset(blocks)


def _matcher(old: Sequence[Row], new: Sequence[Row]) -> SequenceMatcher[str]:
    by_name = _matched(*([NUMBER.sub("", row.name) for row in rows] for rows in (old, new)))
    common = sum(block.size for block in by_name.get_matching_blocks())
    if common >= COMMON * max(1, min(len(old), len(new))):
        return by_name
    return _matched(*([_op(row) for row in rows] for rows in (old, new)))


def _matched(old: list[str], new: list[str]) -> SequenceMatcher[str]:
    return SequenceMatcher(a=old, b=new, autojunk=False)


def _op(row: Row) -> str:
    return NUMBER.sub("", row.name).partition(" ")[0]


def _block(before: Sequence[Row], now: Sequence[Row]) -> str:
    """Name a block of nodes by what it was and what it is."""
    was, since = ("+".join(map(_op, rows)) for rows in (before, now))
    if not was:
        return f"added {since}"
    return f"{was} -> {since}" if since else f"removed {was}"


def _joined(name: str, rows: Sequence[Row]) -> Iterator[Row]:
    if rows:
        times = tuple(map(sum, zip(*(row.self_ns for row in rows), strict=True)))
        yield Row(name, 1.0, times)


def _free(name: str, taken: set[str]) -> str:
    """Number a name that is taken already."""
    plain, number = NUMBER.sub("", name), 1
    free = plain
    while free in taken:
        number += 1
        free = f"{plain}#{number}"
    taken.add(free)
    return free


def _is(event: Any, kind: str) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(event, dict) and event.get("cat") == kind


def _is_kernel(event: Any) -> bool:  # noqa: ANN401 - any JSON value
    return (
        _is(event, "Node")
        and str(event.get("name", "")).endswith(KERNEL)
        and isinstance(event.get("args"), dict)
        and all(_is_time_us(event.get(key)) for key in ("ts", "dur"))
    )


def _is_time_us(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(value, (int, float)) and 0 <= value <= LONGEST_S * US_PER_S


def _own_times(events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Take the times of the nodes within a node (`If`, `Loop`, `Scan`) away from its own."""
    within = [0.0] * len(events)
    order = sorted(range(len(events)), key=lambda at: (events[at]["ts"], -events[at]["dur"]))
    around: list[int] = []
    for at in order:
        began, took = events[at]["ts"], events[at]["dur"]
        while around and events[around[-1]]["ts"] + events[around[-1]]["dur"] < began + took:
            around.pop()
        if around and events[around[-1]]["args"].get("op_name") in {"If", "Loop", "Scan"}:
            within[around[-1]] += took
        around.append(at)
    for event, inner in zip(events, within, strict=True):
        yield event, max(0.0, event["dur"] - inner)


def _label(op: str, name: str) -> str:
    """Name a node so that the name outlives an edit elsewhere: operator and name, without numbers of the runtime.

    >>> _label("Conv", "/layer3/Relu_out_nchwc"), _label("Add", "Add_7"), _label("Gelu", "")
    ('Conv /layer3/Relu_out', 'Add', 'Gelu')
    """
    plain = MADE_BY_OPTIMISER.sub("", name)
    if plain == op or re.fullmatch(rf"{re.escape(op)}_?\d*", plain):
        return op
    return f"{op} {plain}".rstrip()


def _detail(arguments: Mapping[str, Any]) -> str:
    """Describe what a node works on: the shapes of its inputs, and its provider if that is not the CPU's."""
    given = arguments.get("input_type_shape")
    shapes = [
        "x".join(map(str, shape)) or "scalar"
        for each in (given if isinstance(given, list) else ())
        if isinstance(each, dict)
        for shape in each.values()
        if isinstance(shape, list)
    ]
    provider = str(arguments.get("provider", CPU))
    return ", ".join(([] if provider == CPU else [provider]) + shapes)

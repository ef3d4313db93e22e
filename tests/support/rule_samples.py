"""Synthetic records for tests of the rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from pytest_devperf.compare.history import Baseline, BaselineRun
from pytest_devperf.record.derived import derive
from pytest_devperf.record.record import (
    Comparison,
    Confirmation,
    DeviceRecord,
    Measurement,
    Record,
    WorkloadRecord,
)
from pytest_devperf.sensor.run_context import RunContext

DEVICE = DeviceRecord(fingerprint="9f3c00000000", kind="host", model="Bench")
PHONE = DeviceRecord(fingerprint="9f3c00000001", kind="android", model="Phone")
ANCHOR = "kernel 1, CPython 3.11"

SHAPE = tuple((min(index - 7, 0) + max(index - 15, 0)) / 6.75 for index in range(30))
"""Distances of 30 iterations from the centre of their round, in interquartile ranges."""


def round_of(centre_ns: float, width_ns: float) -> tuple[float, ...]:
    """A round with this median and interquartile range, whose faster half has the same.

    It is flat from its first quartile to its median, and steep enough below that twice the interquartile range of
    the faster half is that of all.
    """
    return tuple(centre_ns + place * width_ns for place in SHAPE)


def rounds_of(floors_ns: Sequence[float], *, width_ns: float = 200.0, per_start: int = 2, step_ns: float = 0.0) -> Any:
    """Rounds of several process starts: the first of each start is its floor, later ones are slower by a step."""
    rows = [round_of(floor + place * step_ns, width_ns) for floor in floors_ns for place in range(per_start)]
    process = [start for start in range(len(floors_ns)) for _ in range(per_start)]
    return tuple(rows), tuple(process)


def timed(
    floors_ns: Sequence[float],
    *,
    anchors_ns: Sequence[float] | float | None = None,
    again: Sequence[float] | None = None,
    again_anchors_ns: float | None = None,
    width_ns: float = 200.0,
    per_start: int = 2,
    tick_ns: float | None = 1.0,
    **fields: Any,
) -> Measurement:
    """A latency whose process starts have these floors; `again` are those of the confirmation."""
    rows, process = rounds_of(floors_ns, width_ns=width_ns, per_start=per_start)
    anchors: tuple[float, ...] = ()
    if isinstance(anchors_ns, (int, float)):
        anchors = (float(anchors_ns),) * len(rows)
    elif anchors_ns is not None:
        anchors = tuple(float(at) for at in anchors_ns for _ in range(per_start))
    confirmation = None
    if again is not None:
        again_rows, again_process = rounds_of(again, width_ns=width_ns, per_start=per_start)
        again_anchors = (again_anchors_ns,) * len(again_rows) if again_anchors_ns is not None else ()
        confirmation = Confirmation(process=again_process, samples_ns=again_rows, anchor_ns=again_anchors)
    given = {
        "name": "latency",
        "unit": "ms",
        "main": True,
        "process": process,
        "inner_loops": 1,
        "samples_ns": rows,
        "anchor_ns": anchors,
        "tick_ns": tick_ns,
        "planned_rounds": len(rows),
        "stop": "done",
        "confirmation": confirmation,
    }
    return derive(Measurement(**{**given, **fields}))


def scalars(
    values: Sequence[float], *, kind: str = "memory", again: Sequence[float] | None = None, **fields: Any
) -> Measurement:
    """A metric with one value per process start; loads in ns, others in their unit."""
    rows = tuple((value,) for value in values)
    loads = kind == "start"
    confirmation = None
    if again is not None:
        again_rows = tuple((value,) for value in again)
        confirmation = Confirmation(
            process=tuple(range(len(again))),
            samples_ns=again_rows if loads else None,
            samples=None if loads else again_rows,
        )
    given = {
        "name": {"start": "load", "memory": "peak_memory"}.get(kind, "boxes"),
        "unit": {"start": "ms", "memory": "MiB"}.get(kind, "boxes"),
        "kind": kind,
        "process": tuple(range(len(rows))),
        "samples_ns": rows if loads else None,
        "samples": None if loads else rows,
        "confirmation": confirmation,
    }
    return derive(Measurement(**{**given, **fields}))


def record(*metrics: Measurement, **fields: Any) -> Record:
    """A passed case with these metrics."""
    given = {
        "id": "test_it",
        "workload": WorkloadRecord(fingerprint="work", kind="call"),
        "metrics": metrics,
        "processes": 3,
        "iterations": 30,
        "run_context": RunContext(anchor=ANCHOR),
    }
    return Record(**{**given, **fields})


def baseline(*records: Record, device: DeviceRecord = DEVICE, same_device: bool = True) -> Baseline:
    """Saved runs of a case, newest first."""
    return Baseline(
        case_id="test_it",
        device=device,
        same_device=same_device,
        runs=tuple(
            BaselineRun(
                run_id=f"run{place}",
                taken_at=f"2026-11-{29 - place:02}T00:00:00Z",
                commit=None,
                settings={},
                record=each,
            )
            for place, each in enumerate(records)
        ),
    )


def only(comparison: Comparison) -> Any:
    """The single change of a comparison."""
    (change,) = comparison.changes
    return change


def with_rows(measurement: Measurement, rows: Sequence[Sequence[float]]) -> Measurement:
    """The same measurement with other raw samples, not derived again."""
    return replace(measurement, samples_ns=tuple(tuple(row) for row in rows))

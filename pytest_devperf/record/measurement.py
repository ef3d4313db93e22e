"""Combine the results of process starts into a `Measurement`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec.structs import replace as with_fields

from pytest_devperf.measure.round import Round, StartResult
from pytest_devperf.measure.undisturbed import ran_of
from pytest_devperf.metric import Metric
from pytest_devperf.record.derived import Rows, derive
from pytest_devperf.record.record import Confirmation, Measurement

_Number = TypeVar("_Number", int, float)


def time_measurement(metric: Metric, start_results: Sequence[StartResult], *, main: bool = False) -> Measurement:
    """Combine the results of all process starts.

    Args:
        metric: A metric made of rounds.
        start_results: The result of each start, in order; a start may have no rounds.
        main: Whether it is the main metric, described by `stable`.
    """
    rounds = [taken for start_result in start_results for taken in start_result.rounds]
    inner_loops = next((start_result.inner_loops for start_result in start_results if start_result.rounds), 1)
    ticks_ns = [start_result.tick_ns / inner_loops for start_result in start_results if start_result.tick_ns]
    slow = next((start_result for start_result in start_results if start_result.stop == "too-slow"), None)
    last = slow or next((start_result for start_result in reversed(start_results) if start_result.stop != "done"), None)
    return derive(
        Measurement(
            name=metric.name,
            unit=metric.unit,
            better=metric.better,
            kind=metric.kind,
            main=main,
            process=tuple(taken.process for taken in rounds),
            inner_loops=inner_loops,
            samples_ns=tuple(taken.samples_ns for taken in rounds),
            cpu_ns=_unless_unknown(taken.cpu_ns for taken in rounds),
            anchor_ns=_unless_unknown(taken.anchor_ns for taken in rounds),
            ran_ns=_unless_unknown(map(ran_of, rounds)),
            temp_c=_unless_unknown(taken.temp_c for taken in rounds),
            clock_khz=_unless_unknown(taken.clock_khz for taken in rounds),
            counters=_counters(rounds, inner_loops),
            tick_ns=max(ticks_ns, default=None),
            planned_rounds=min((start_result.total_rounds for start_result in start_results), default=None),
            stop=last.stop if last else "done",
            needs_s=slow.needs_s if slow else None,
        )
    )


def _counters(rounds: Sequence[Round], inner_loops: int) -> dict[str, tuple[float | None, ...]]:
    """Divide the hardware counters of each round by its calls."""

    def of(name: str, taken: Round) -> float | None:
        count = taken.counters.get(name)
        return None if count is None else count / (len(taken.samples_ns) * inner_loops)

    names = dict.fromkeys(name for taken in rounds for name in taken.counters)
    return {name: tuple(of(name, taken) for taken in rounds) for name in names}


def series(start_results: Sequence[StartResult], name: str) -> tuple[StartResult, ...]:
    """Return a further series of the same runs (`Round.also`) as separate results.

    Args:
        start_results: The result of each process start.
        name: The series; rounds that lack it are left out.
    """
    return tuple(
        replace(
            start_result,
            rounds=tuple(
                replace(taken, samples_ns=taken.also[name], also={}, values={}, counters={})
                for taken in start_result.rounds
                if taken.also.get(name)
            ),
        )
        for start_result in start_results
    )


def scalar_measurement(
    metric: Metric, rows: Rows, processes: Sequence[int], *, baseline: float | None = None
) -> Measurement:
    """Combine the values of a metric with few values.

    Args:
        metric: Of kind `start` (values in ns), `memory` (in MiB above `baseline`) or `recorded` (in its unit).
        rows: (starts, values); a start may give several recorded values.
        processes: (starts,) index of the process start of each row.
        baseline: Memory before the workload was created, in MiB.
    """
    kept = _kept(rows)
    timed = metric.kind == "start"
    return _of_values(
        metric,
        processes,
        samples_ns=kept if timed else None,
        samples=None if timed else kept,
        baseline=baseline,
    )


def count_measurement(metric: Metric, rows: Rows, processes: Sequence[int], *, loops: int) -> Measurement:
    """Combine the counts of a metric.

    Args:
        metric: Of kind `counted`.
        rows: (layouts, repetitions) instructions of one run.
        processes: (layouts,) index of the process start of each row.
        loops: Runs in one count.
    """
    return _of_values(metric, processes, samples=_kept(rows), inner_loops=loops)


def _of_values(
    metric: Metric,
    processes: Sequence[int],
    *,
    samples_ns: tuple[tuple[float, ...], ...] | None = None,
    samples: tuple[tuple[float, ...], ...] | None = None,
    baseline: float | None = None,
    inner_loops: int | None = None,
) -> Measurement:
    """Make the measurement of a metric that has no rounds."""
    return derive(
        Measurement(
            name=metric.name,
            unit=metric.unit,
            better=metric.better,
            kind=metric.kind,
            process=tuple(processes),
            inner_loops=inner_loops,
            samples_ns=samples_ns,
            samples=samples,
            baseline=baseline,
            stop="done",
        )
    )


def with_confirmation(
    measurement: Measurement, source: Sequence[StartResult] | Rows, processes: Sequence[int] = ()
) -> Measurement:
    """Add the second look at a suspect to a measurement.

    Args:
        measurement: The first look.
        source: Results of starts for a metric of rounds, rows of values for another metric.
        processes: (starts,) index of the process start of each row; only for rows.
    """
    if measurement.kind == "rounds":
        rounds: list[Round] = [
            taken for start_result in source if isinstance(start_result, StartResult) for taken in start_result.rounds
        ]
        confirmation = Confirmation(
            process=tuple(taken.process for taken in rounds),
            samples_ns=tuple(taken.samples_ns for taken in rounds),
            anchor_ns=_unless_unknown(taken.anchor_ns for taken in rounds),
            ran_ns=_unless_unknown(map(ran_of, rounds)),
            temp_c=_unless_unknown(taken.temp_c for taken in rounds),
            clock_khz=_unless_unknown(taken.clock_khz for taken in rounds),
        )
    else:
        kept = _kept([row for row in source if not isinstance(row, StartResult)])
        timed = measurement.samples_ns is not None
        confirmation = Confirmation(
            process=tuple(processes), samples_ns=kept if timed else None, samples=None if timed else kept
        )
    return with_fields(measurement, confirmation=confirmation)


def _kept(rows: Rows) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in rows)


def _unless_unknown(values: Iterable[_Number | None]) -> tuple[_Number | None, ...]:
    """Keep one value per round; return nothing if no value is known."""
    kept = tuple(values)
    return kept if any(value is not None for value in kept) else ()

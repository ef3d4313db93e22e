"""Combine the values of process starts to the measurements of a case, one per metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_devperf import stats
from pytest_devperf.measure.round import StartResult
from pytest_devperf.metric import LATENCY, Metric, time_metric
from pytest_devperf.record.measurement import (
    count_measurement,
    scalar_measurement,
    series,
    time_measurement,
    with_confirmation,
)
from pytest_devperf.record.record import Measurement
from pytest_devperf.session.starts.start import CaseStart, ScalarValues

STREAM_SERIES = frozenset({"first_item", "per_item"})
"""Series of `devperf.stream` that are metrics under their own names."""


def measurements_of(starts: Sequence[CaseStart], confirming: Sequence[CaseStart] = ()) -> tuple[Measurement, ...]:
    """List every metric in the order in which the test measured it; the first time is the main one."""
    timed = _by_metric(starts)
    confirmed = _by_metric(confirming)
    measurements = []
    for place, (name, (metric, start_results)) in enumerate(timed.items()):
        measurement = time_measurement(metric, start_results, main=place == 0)
        if confirming:
            measurement = with_confirmation(measurement, confirmed.get(name, (metric, []))[1])
        measurements.append(measurement)
    return (*measurements, *_scalar_measurements(starts, confirming))


def _by_metric(starts: Sequence[CaseStart]) -> dict[str, tuple[Metric, list[StartResult]]]:
    """Group results by metric; further series of the same rounds become separate metrics."""
    found: dict[str, tuple[Metric, list[StartResult]]] = {}
    for start in starts:
        for timed in start.timed:
            found.setdefault(timed.metric.name, (timed.metric, []))[1].append(timed.start_result)
    for name, (_, start_results) in list(found.items()):
        also = dict.fromkeys(
            key for start_result in start_results for taken in start_result.rounds for key in taken.also
        )
        for key in also:
            own = key if key in STREAM_SERIES and name == LATENCY else f"{name}.{key}"
            found[own] = (time_metric(own), list(series(start_results, key)))
    return found


def _scalar_measurements(starts: Sequence[CaseStart], confirming: Sequence[CaseStart]) -> list[Measurement]:
    found: dict[str, list[tuple[int, ScalarValues]]] = {}
    for start in starts:
        for each in start.scalars:
            found.setdefault(each.metric.name, []).append((start.process, each))
    measurements = []
    for name, rows in found.items():
        baselines = [each.baseline for _, each in rows if each.baseline is not None]
        measurement = scalar_measurement(
            rows[0][1].metric,
            [each.values for _, each in rows],
            [process for process, _ in rows],
            baseline=stats.median(baselines) if baselines else None,
        )
        again = [
            (start.process, each.values) for start in confirming for each in start.scalars if each.metric.name == name
        ]
        if again:
            measurement = with_confirmation(
                measurement, [values for _, values in again], [process for process, _ in again]
            )
        measurements.append(measurement)
    return measurements


def count_measurements(starts: Sequence[CaseStart]) -> Iterator[Measurement]:
    """Give the instructions of every metric; those of a second start confirm the first."""
    measured = [{each.metric.name: (start.process, each) for each in start.counts} for start in starts]
    for name, (process, counts) in (measured[0] if measured else {}).items():
        measurement = count_measurement(
            counts.metric, counts.layouts, [process] * len(counts.layouts), loops=counts.loops
        )
        for again, confirming in (each[name] for each in measured[1:] if name in each):
            measurement = with_confirmation(measurement, confirming.layouts, [again] * len(confirming.layouts))
        yield measurement

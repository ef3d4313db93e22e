"""Compute summaries from the raw samples of a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from msgspec.structs import replace as with_fields

from pytest_devperf import stats
from pytest_devperf.case.plan import Plan
from pytest_devperf.measure.stability import converged, grade, round_cov
from pytest_devperf.measure.undisturbed import undisturbed
from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.record.record import Confirmation, Measurement, Stable, Summary

MS_PER_S = 1000.0

Rows = Sequence[Sequence[float]]


def derive(measurement: Measurement) -> Measurement:
    """Compute every summary from the raw samples.

    For a metric of rounds, `robust` is the minimum of the round medians and `iqr` the median of the rounds' IQRs;
    `undisturbed` and `iqr_undisturbed` are the same for the undisturbed part. For other metrics, `robust` is the median
    of the values and `iqr` their IQR, or the range within a start if that is larger; for instructions, `iqr` is the
    range of the memory layouts. The clock's step is at least the smallest difference of two samples.
    """
    rows = raw_rows(measurement)
    if not rows:
        return with_fields(
            measurement,
            robust=None,
            median=None,
            iqr=None,
            iqr_within=None,
            iqr_pooled=None,
            undisturbed=None,
            iqr_undisturbed=None,
            summary=None,
        )
    scale = 1 / NS_PER_MS if measurement.samples_ns is not None else 1.0
    ranked = sorted(chain.from_iterable(rows))
    timed = measurement.kind == "rounds"
    robust, within = _CENTRES.get(measurement.kind, centre_of_few)(rows)
    seen_ns = stats.smallest_step(ranked) if timed else None
    middle = stats.median(ranked, presorted=True)
    calm = undisturbed(rows, measurement.ran_ns, measurement.inner_loops or 1) if timed else None
    return with_fields(
        measurement,
        robust=robust * scale,
        median=middle * scale,
        iqr=within * scale,
        iqr_within=within * scale,
        iqr_pooled=stats.iqr(ranked, presorted=True) * scale,
        undisturbed=min(calm.centres) * scale if calm else None,
        iqr_undisturbed=calm.iqr * scale if calm else None,
        tick_ns=max(measurement.tick_ns or 0.0, seen_ns or 0.0) or None,
        summary=summarise([value * scale for value in ranked], timed=measurement.samples_ns is not None),
    )


def raw_rows(measurement: Measurement | Confirmation) -> Rows:
    """Return the raw samples, in ns or in the metric's unit, without empty rows."""
    rows = measurement.samples_ns if measurement.samples_ns is not None else measurement.samples
    return [row for row in rows or () if row]


def centre_of_rounds(rows: Rows) -> tuple[float, float]:
    """Return the minimum of the round medians and the IQR within rounds."""
    centres, widths = stats.centres_and_widths(rows)
    return min(centres), stats.within_iqr(rows, centres, widths)


def centre_of_few(rows: Rows) -> tuple[float, float]:
    """Return the median of the starts' medians, and their IQR or the usual range within a start."""
    values = [stats.median(row) for row in rows]
    ranges = [max(row) - min(row) for row in rows]
    return stats.median(values), max(stats.iqr(values), stats.median(ranges))


def centre_of_layouts(rows: Rows) -> tuple[float, float]:
    """Return the median of the memory layouts' medians, and their range."""
    values = [stats.median(row) for row in rows]
    return stats.median(values), max(values) - min(values)


_CENTRES = {"rounds": centre_of_rounds, "counted": centre_of_layouts}
"""Centre and spread by kind of metric; all others have few values."""


def summarise(ranked: Sequence[float], *, timed: bool) -> Summary:
    """Summarise sorted values in their unit; `timed`: they are milliseconds."""
    middle = stats.median(ranked, presorted=True)
    return Summary(
        mean=stats.mean(ranked),
        p50=middle,
        p90=stats.quantile(ranked, 0.90, presorted=True),
        p99=stats.quantile(ranked, 0.99, presorted=True),
        min=ranked[0],
        max=ranked[-1],
        std=stats.std(ranked) or 0.0,
        per_s=MS_PER_S / middle if timed and middle else None,
    )


def stable_of(measurement: Measurement, plan: Plan, *, rest_s: float = 0.0) -> Stable | None:
    """Describe the stability of a metric of rounds; return None if it has no rounds.

    Args:
        measurement: The main time metric.
        plan: Its stability target, patience and fewest rounds.
        rest_s: Wait between rounds in seconds.
    """
    rows = raw_rows(measurement)
    if not rows or measurement.samples_ns is None:
        return None
    medians_ms = [stats.median(row) / NS_PER_MS for row in rows]
    spread = round_cov(medians_ms)
    return Stable(
        robust_latency_ms=min(medians_ms),
        round_medians_ms=tuple(medians_ms),
        round_cov=spread,
        rounds_run=len(rows),
        converged=converged(medians_ms, plan),
        quality=grade(spread, plan.stability_target),
        iters_per_round=max(map(len, rows)),
        cooldown_ms=round(rest_s * MS_PER_S),
    )

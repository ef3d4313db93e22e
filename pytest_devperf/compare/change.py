"""Changes of metrics that are not judged."""

from __future__ import annotations

from pytest_devperf.record.record import Change, Measurement, Verdict


def unjudged(measurement: Measurement, reason: str, *, verdict: Verdict = "incomparable") -> Change:
    """Say of a metric of this run why it is not judged."""
    return Change(
        metric=measurement.name,
        verdict=verdict,
        unit=measurement.unit,
        better=measurement.better,
        candidate=measurement.robust,
        reason=reason,
    )


def lost(before: Measurement, reason: str) -> Change:
    """Say of a metric that only the other side has why it is not judged."""
    return Change(
        metric=before.name,
        verdict="incomparable",
        unit=before.unit,
        better=before.better,
        baseline=before.robust,
        reason=reason,
    )

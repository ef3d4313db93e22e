"""Build changes of metrics that are not judged."""

from __future__ import annotations

from pytest_devperf.record.record import Change, Measurement, Verdict


def unjudged(measurement: Measurement, reason: str, *, verdict: Verdict = "incomparable") -> Change:
    """Return a change for a metric of this run, with the reason why it is not judged."""
    return Change(
        metric=measurement.name,
        verdict=verdict,
        unit=measurement.unit,
        better=measurement.better,
        candidate=measurement.robust,
        reason=reason,
    )


def lost(before: Measurement, reason: str) -> Change:
    """Return a change for a metric that only the other side has, with the reason why it is not judged."""
    return Change(
        metric=before.name,
        verdict="incomparable",
        unit=before.unit,
        better=before.better,
        baseline=before.robust,
        reason=reason,
    )

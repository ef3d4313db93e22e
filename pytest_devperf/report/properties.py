"""The numbers of a case as properties of its test, for JUnit's XML and every other report that shows properties."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_devperf.record.record import Change, Measurement, Record
from pytest_devperf.report.report import kind_of
from pytest_devperf.report.row import noise_percent, own_noise_percent
from pytest_devperf.untrusted import printable

Value = str | float

PREFIX = "devperf"
"""What the name of every property begins with."""

DIGITS = 6
"""Significant digits of a number: more than any measurement has."""


def properties_of(record: Record) -> list[tuple[str, Value]]:
    """Return the properties of a case; what is not known is left out.

    Names are `devperf:verdict`, `devperf:cautions`, and for every metric `devperf:latency` (its value) and
    `devperf:latency:unit`, `:noise_percent`, `:baseline`, `:change_percent`, `:detectable_percent` and `:verdict`.
    """
    found: list[tuple[str, Value]] = [("verdict", kind_of(record))]
    if record.cautions:
        found.append(("cautions", ", ".join(record.cautions)))
    changes = {change.metric: change for change in record.comparison.changes} if record.comparison else {}
    for metric in record.metrics:
        for fact, value in _facts(metric, changes.get(metric.name)):
            found.append((":".join(filter(None, (metric.name, fact))), value))
    return [(printable(f"{PREFIX}:{name}"), _shown(value)) for name, value in found]


def _facts(metric: Measurement, change: Change | None) -> Iterator[tuple[str, Value]]:
    facts: dict[str, Value | None] = {
        "": metric.robust if change is None or change.candidate is None else change.candidate,
        "unit": metric.unit or None,
        "noise_percent": own_noise_percent(metric) if change is None else noise_percent(change),
    }
    if change is not None:
        facts |= {
            "baseline": change.baseline,
            "change_percent": change.delta_pct,
            "detectable_percent": change.detectable_pct,
            "verdict": change.verdict,
        }
    return ((fact, value) for fact, value in facts.items() if value is not None)


def _shown(value: Value) -> Value:
    return printable(value) if isinstance(value, str) else float(f"{value:.{DIGITS}g}")

"""Write runs in the formats of other tools.

Sources: README of github-action-benchmark, "customBiggerIsBetter" and "customSmallerIsBetter"; Bencher, "Bencher Metric
Format (BMF)"; RFC 4180 for CSV.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_devperf.errors import UsageError
from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.record.codec import encode
from pytest_devperf.record.record import Document, Measurement, Record, Run
from pytest_devperf.report.markdown.text import render
from pytest_devperf.report.report import Report
from pytest_devperf.untrusted import format_json, printable

COLUMNS = (
    "run",
    "label",
    "taken_at",
    "commit",
    "device",
    "case",
    "outcome",
    "metric",
    "unit",
    "better",
    "robust",
    "median",
    "iqr",
    "min",
    "max",
    "mean",
    "p90",
    "p99",
    "samples",
    "cautions",
)
"""Columns of the CSV format: one row for each metric of each case."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a text that a spreadsheet would calculate. Source: OWASP, "CSV Injection"."""


def _csv(runs: Sequence[Run]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run, record, metric in _metrics(runs):
        writer.writerow([_cell(value) for value in _row(run, record, metric)])
    return out.getvalue()


def _row(run: Run, record: Record, metric: Measurement) -> Iterator[object]:
    summary = metric.summary
    yield from (run.id, run.label, run.taken_at, run.commit.id if run.commit else None, run.device.fingerprint)
    yield from (record.id, record.outcome, metric.name, metric.unit, metric.better)
    yield from (metric.robust, metric.median, metric.iqr)
    yield from (getattr(summary, name, None) for name in ("min", "max", "mean", "p90", "p99"))
    yield sum(map(len, metric.samples_ns or metric.samples or ()))
    yield " ".join(record.cautions)


def _cell(value: object) -> object:
    """Keep numbers, and let no text control a terminal or a spreadsheet."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _json(runs: Sequence[Run]) -> str:
    return f"{format_json(json.loads(encode(Document(runs=tuple(runs)))))}\n"


def _markdown(runs: Sequence[Run]) -> str:
    return render(Report(runs=tuple(runs)))


def _benchmark_action(runs: Sequence[Run], better: str) -> str:
    entries = []
    for _, record, metric in _metrics(runs):
        if metric.better != better or metric.robust is None:
            continue
        entry: dict[str, Any] = {
            "name": _name(record, metric),
            "unit": metric.unit or "1",
            "value": metric.robust,
            "extra": printable(" ".join(record.cautions)),
        }
        if metric.iqr is not None:
            entry["range"] = f"{metric.iqr:.4g}"
        entries.append(entry)
    if not entries:
        raise UsageError(f"no value for which {better} is better", "use --better for the other direction")
    return f"{format_json(entries)}\n"


def _bencher(runs: Sequence[Run]) -> str:
    found: dict[str, dict[str, dict[str, float]]] = {}
    for _, record, metric in _metrics(runs):
        if metric.robust is None:
            continue
        in_ns = NS_PER_MS if metric.unit == "ms" else 1.0  # Bencher's own measure `latency` is in ns
        values = {"value": metric.robust * in_ns}
        if metric.summary is not None:
            values["lower_value"] = min(metric.summary.min, metric.robust) * in_ns
            values["upper_value"] = max(metric.summary.p90, metric.robust) * in_ns
        found.setdefault(printable(record.id), {})[printable(metric.name)] = values
    return f"{format_json(found)}\n"


def _metrics(runs: Sequence[Run]) -> Iterator[tuple[Run, Record, Measurement]]:
    return ((run, record, metric) for run in runs for record in run.cases for metric in record.metrics)


def _name(record: Record, metric: Measurement) -> str:
    """Name a value of github-action-benchmark, which compares values by their names."""
    return printable(f"{record.id}: {metric.name}")


EXPORTS: Mapping[str, Callable[[Sequence[Run], str], str]] = {
    "csv": lambda runs, _: _csv(runs),
    "json": lambda runs, _: _json(runs),
    "markdown": lambda runs, _: _markdown(runs),
    "benchmark-action": _benchmark_action,
    "bencher": lambda runs, _: _bencher(runs),
}
"""Format -> what writes it, with the direction that is better (for `benchmark-action`, a file has one)."""

"""Convert a case to rows of the table, one per metric."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_devperf.compare.words import COARSE, coarse
from pytest_devperf.metric import INFORMATIONAL
from pytest_devperf.record.record import Change, Measurement, Record
from pytest_devperf.report.outcome import word
from pytest_devperf.report.report import kind_of
from pytest_devperf.report.table import Column, Row
from pytest_devperf.report.units import format_change, format_pair, format_percent, format_value

COMPARED = (
    Column(heading="case"),
    Column(heading="metric"),
    Column(heading="baseline", number=True, expendable=True),
    Column(heading="now", number=True),
    Column(heading="change", number=True),
    Column(heading="noise", number=True, expendable=True),
    Column(heading="detectable", number=True, expendable=True),
    Column(heading="verdict"),
)
"""`noise`: the larger IQR of both runs. `detectable`: the smallest change that this comparison could have detected."""

MEASURED = (
    Column(heading="case"),
    Column(heading="metric"),
    Column(heading="now", number=True),
    Column(heading="noise", number=True),
    Column(heading="quality"),
)


FOLDED = frozenset({"within_noise", "incomparable", "inconclusive", "new"})
"""Verdicts of which one row can represent several metrics of a case: nobody looks at their numbers."""


def compared_rows(record: Record, *, all_metrics: bool = False, folded: bool = False) -> list[Row]:
    """Return a case's metrics next to their baselines, in the columns of `COMPARED`.

    Args:
        record: The case.
        all_metrics: Whether to include metrics that are reported but not compared.
        folded: Whether one row represents all metrics that did not change.
    """
    changes = record.comparison.changes if record.comparison else ()
    rows = _folded_rows(record, changes) if folded else [_change_row(change) for change in changes]
    judged = {change.metric for change in changes}
    for each in record.metrics:
        if each.name not in judged and (all_metrics or (not changes and each.name not in INFORMATIONAL)):
            now, noise = _now_and_noise(each)
            rows.append((each.name, "", now, "", noise, "", ""))
    kind = kind_of(record)
    if not rows:
        rows = [("",) * (len(COMPARED) - 1)]
    if not changes or kind in {"failed", "error", "skipped"}:
        rows[0] = (*rows[0][:-1], word(kind))
    return _named(record.id, rows)


def measured_rows(record: Record, *, all_metrics: bool = False) -> list[Row]:
    """Return a case's metrics without a baseline, in the columns of `MEASURED`."""
    kind = kind_of(record)
    rows: list[Row] = [
        (each.name, *_now_and_noise(each), record.stable.quality if each.main and record.stable else "")
        for each in record.metrics
        if all_metrics or each.name not in INFORMATIONAL
    ]
    if kind != "measured":
        rows = [(*row[:-1], word(kind)) if at == 0 else row for at, row in enumerate(rows or [("", "", "", "")])]
    return _named(record.id, rows or [("", "", "", "")])


def verdict_cell(change: Change) -> str:
    """Format a metric's verdict, with `(coarse)` if the comparison could not have detected a relevant change.

    >>> verdict_cell(Change(metric="latency", verdict="within_noise", detectable_pct=8.2))
    'within noise (coarse)'
    """
    text = word(change.verdict)
    return f"{text} {COARSE}" if coarse(change) else text


def _folded_rows(record: Record, changes: Sequence[Change]) -> list[Row]:
    """Return a row for each metric that changed, and one for each other verdict."""
    main = next((metric.name for metric in record.metrics if metric.main), None)
    rows = [_change_row(change) for change in changes if change.verdict not in FOLDED]
    groups: dict[str, list[Change]] = {}
    for change in changes:
        if change.verdict in FOLDED:
            groups.setdefault(change.verdict, []).append(change)
    for group in groups.values():
        shown = next((change for change in group if change.metric == main), group[0])
        row = _change_row(shown)
        if len(group) > 1 and rows:
            row = (f"{len(group)} others", *[""] * (len(row) - 2), _verdict_of_group(group))
        elif len(group) > 1:
            row = (f"{shown.metric} +{len(group) - 1} more", *row[1:-1], _verdict_of_group(group))
        rows.append(row)
    return rows


def _verdict_of_group(group: Sequence[Change]) -> str:
    unseen = sum(map(coarse, group))
    if unseen in {0, len(group)}:
        return verdict_cell(group[0])
    return f"{word(group[0].verdict)} ({unseen} {COARSE.strip('()')})"


def noise_percent(change: Change) -> float | None:
    """Return the larger IQR of both runs, in percent of the value that it belongs to."""
    spreads = [iqr for iqr in (change.iqr_baseline, change.iqr_candidate) if iqr is not None]
    value = change.baseline if change.baseline is not None else change.candidate
    return 100 * max(spreads) / abs(value) if spreads and value else None


def own_noise_percent(held: Measurement) -> float | None:
    """Return a metric's IQR in percent of its value."""
    return noise_percent_of(held.robust, held.iqr)


def noise_percent_of(value: float | None, iqr: float | None) -> float | None:
    """Return an IQR in percent of its value."""
    return 100 * iqr / abs(value) if iqr is not None and value else None


def _change_row(change: Change) -> Row:
    then, now = format_pair(change.baseline, change.candidate, change.unit)
    delta = format_change(change.delta_pct, change.unit)
    if change.delta_pct is None and change.delta is not None:
        delta = format_value(change.delta, change.unit)
    noise, detectable = (format_percent(each) for each in (noise_percent(change), change.detectable_pct))
    return change.metric, then, now, delta, noise, detectable, verdict_cell(change)


def _now_and_noise(held: Measurement) -> tuple[str, str]:
    return format_value(held.robust, held.unit), format_percent(own_noise_percent(held))


def _named(name: str, rows: Sequence[Row]) -> list[Row]:
    """Put the case's name into its first row only."""
    return [(name if at == 0 else "", *row) for at, row in enumerate(rows)]

"""Show the values of one case over all saved runs of a label, and which commits changed them.

CASE is the id of a case, or a part of it that no other case has.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_devperf.cli.arguments import add_store
from pytest_devperf.cli.find import device_label_summaries, store_at
from pytest_devperf.cli.output import columns, complain, say
from pytest_devperf.compare.shift import Shift, shifts
from pytest_devperf.english import counted
from pytest_devperf.errors import UsageError
from pytest_devperf.record.record import Measurement, Record, Run
from pytest_devperf.report.header import commit_line, device_line
from pytest_devperf.report.table import Column, lay_out
from pytest_devperf.report.units import format_percent, format_value
from pytest_devperf.store.store import LabelSummary, Store

_COLUMNS = (
    Column(heading="taken at"),
    Column(heading="commit"),
    Column(heading="value", number=True),
    Column(heading="noise", number=True, expendable=True),
    Column(heading="change"),
)


@dataclass(frozen=True, slots=True)
class _Point:
    """A case in one run."""

    run: Run
    record: Record
    metric: Measurement


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the case and where its runs are."""
    parser.add_argument("case", metavar="CASE", help="id of a case, or a part that no other case has")
    parser.add_argument("--label", metavar="LABEL", help="the label (default: the only one there is)")
    parser.add_argument(
        "--device", metavar="FINGERPRINT", help="only runs of this device; the beginning of its fingerprint suffices"
    )
    parser.add_argument("--metric", metavar="NAME", help="the metric (default: the main one of the case)")
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a table for every device, oldest run first, and what changed below it."""
    store = store_at(arguments.store)
    told = []
    for label_summary in device_label_summaries(store, _label(arguments.label, store), arguments.device):
        points = _points(label_summary, store, arguments)
        if points:
            told.append("\n".join((device_line(label_summary.device), "", *_lines(points))))
    if not told:
        raise UsageError(f"no run of the label holds {arguments.metric or 'a value'} of {arguments.case}")
    say("\n\n".join(told))
    return 0


def _label(given: str | None, store: Store) -> str:
    if given is not None:
        return given
    labels = sorted({label_summary.label for label_summary in store.label_summaries()})
    if len(labels) != 1:
        there = f"use one of {', '.join(labels)}" if labels else "the store is empty"
        raise UsageError(f"{store} has {counted(len(labels), 'label')}: name one with --label", there)
    return labels[0]


def _points(label_summary: LabelSummary, store: Store, arguments: argparse.Namespace) -> list[_Point]:
    """Collect a case over all generations, oldest first."""
    runs = sorted(store.runs(label_summary.device.fingerprint, label_summary.label), key=lambda each: each.taken_at)
    case_id = _case_id(arguments.case, runs)
    found = []
    for each in runs:
        record = next((held for held in each.cases if held.id == case_id and held.outcome == "passed"), None)
        metric = _metric(record, arguments.metric) if record is not None else None
        if record is not None and metric is not None:
            found.append(_Point(each, record, metric))
    return found


def _case_id(word: str, runs: Sequence[Run]) -> str:
    """Find the case that a word means.

    Raises:
        UsageError: It means none, or several; they are listed.
    """
    ids = sorted({record.id for each in runs for record in each.cases})
    near = [word] if word in ids else [case_id for case_id in ids if word in case_id]
    if len(near) == 1:
        return near[0]
    listed = ", ".join(near or ids)
    problem = f"{word!r} is part of several case ids" if near else f"no case named {word!r}"
    raise UsageError(problem, f"use one of {listed}" if ids else "save a run first")


def _metric(record: Record, name: str | None) -> Measurement | None:
    """Choose the metric that was named, the main one, or the first; None where it has no value."""
    held = [each for each in record.metrics if each.robust is not None and name in {None, each.name}]
    return next((each for each in held if each.main), held[0] if held else None)


def _lines(points: Sequence[_Point]) -> list[str]:
    """Lay the runs out, and name the commits at which the level changed."""
    newest = points[-1]
    same = [at for at, point in enumerate(points) if _alike(point, newest)]
    found = _found([points[at].metric for at in same])
    by_row = {same[shift.at]: shift for shift in found}
    rows = [
        (
            point.run.taken_at,
            commit_line(point.run.commit) or "-",
            format_value(point.metric.robust, point.metric.unit),
            format_percent(_noise(point.metric)),
            _word(by_row.get(at), point.metric) if _alike(point, newest) else "other workload",
        )
        for at, point in enumerate(points)
    ]
    head = f"{newest.record.id}: {newest.metric.name}, {counted(len(points), 'run')} of {newest.run.label}"
    told = [_sentence(shift, points[at], points[at - 1]) for at, shift in by_row.items()]
    return [head, *lay_out(_COLUMNS, rows, columns()), "", *(told or ["no lasting change of level"])]


def _found(metrics: Sequence[Measurement]) -> Sequence[Shift]:
    """Look for changes of level; without the package that finds them the table is shown all the same."""
    try:
        return shifts([each.robust or 0.0 for each in metrics], widths=[each.iqr or 0.0 for each in metrics])
    except UsageError as error:
        complain(str(error))
        return ()


def _alike(point: _Point, newest: _Point) -> bool:
    return point.record.workload.fingerprint == newest.record.workload.fingerprint


def _noise(metric: Measurement) -> float | None:
    return 100 * metric.iqr / abs(metric.robust) if metric.iqr is not None and metric.robust else None


def _word(shift: Shift | None, metric: Measurement) -> str:
    if shift is None:
        return ""
    worse = (shift.percent > 0) == (metric.better == "lower")
    words = ("slower", "faster") if metric.unit == "ms" else ("worse", "better")
    return f"{words[0] if worse else words[1]} {shift.percent:+.1f} %"


def _sentence(shift: Shift, point: _Point, before: _Point) -> str:
    """Name the commit of a change, and the last one of the level before."""
    unit = point.metric.unit
    values = f"{format_value(shift.before, unit)} -> {format_value(shift.after, unit)}"
    since = commit_line(point.run.commit) or f"the run of {point.run.taken_at}"
    last = commit_line(before.run.commit)
    return (
        f"{_word(shift, point.metric)} since {since}: {values}{f'; the last commit before is {last}' if last else ''}"
    )

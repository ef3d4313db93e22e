"""Show the values of one case over all saved runs of a label, and which commits changed them.

CASE is the id of a case, or a part of it that no other case has. Runs are in the order of their commits if the
repository of the current folder contains all of them, else in the order of time.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import to_builtins
from msgspec.structs import replace

from pytest_devperf.cli.arguments import add_device, add_format, add_store
from pytest_devperf.cli.find import case_id, device_label_summaries, store_at
from pytest_devperf.cli.output import columns, echo, echo_error, echo_json
from pytest_devperf.compare.shift import Shift
from pytest_devperf.english import counted
from pytest_devperf.errors import UsageError
from pytest_devperf.record.outline import RunOutline, without_cases
from pytest_devperf.report.header import commit_line, device_line
from pytest_devperf.report.past import Point, alike, change_sentences, change_words, level_changes, points_by_case
from pytest_devperf.report.row import noise_percent_of
from pytest_devperf.report.table import Column, lay_out
from pytest_devperf.report.units import format_percent, format_value
from pytest_devperf.store.commit import read_order
from pytest_devperf.store.outlines import read_outlines
from pytest_devperf.store.store import LabelSummary, Store

_COLUMNS = (
    Column(heading="taken at"),
    Column(heading="commit"),
    Column(heading="value", number=True),
    Column(heading="noise", number=True, expendable=True),
    Column(heading="change"),
)


EXAMPLES = ("devperf history test_sort", "devperf history test_sort --label main --metric load")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the case, and the options that select its runs."""
    parser.add_argument("case", metavar="CASE", help="id of a case, or a unique part of it")
    parser.add_argument("--label", metavar="LABEL", help="the label (default: the only one)")
    add_device(parser)
    parser.add_argument("--metric", metavar="NAME", help="the metric (default: the main one of the case)")
    add_format(parser)
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print a table for every device, followed by the changes."""
    store = store_at(arguments.store)
    sentences, plain = [], []
    for label_summary in device_label_summaries(store, _label(arguments.label, store), arguments.device):
        points = _points(label_summary, store, arguments)
        if points:
            plain.append(_plain(label_summary, points))
            sentences.append("\n".join((device_line(label_summary.device), "", *_lines(points))))
    if not sentences:
        raise UsageError(f"no run of the label contains {arguments.metric or 'a value'} of {arguments.case}")
    if arguments.format == "json":
        echo_json(plain)
    else:
        echo("\n\n".join(sentences))
    return 0


def _label(given: str | None, store: Store) -> str:
    if given is not None:
        return given
    labels = sorted({label_summary.label for label_summary in store.label_summaries()})
    if len(labels) != 1:
        there = f"use one of {', '.join(labels)}" if labels else "the store is empty"
        raise UsageError(f"{store} has {counted(len(labels), 'label')}: name one with --label", there)
    return labels[0]


def _points(label_summary: LabelSummary, store: Store, arguments: argparse.Namespace) -> Sequence[Point]:
    """Collect a case over all generations, oldest first."""
    runs: list[RunOutline] = []
    ids: set[str] = set()
    for run in read_outlines(store, label_summary.device.fingerprint, label_summary.label):
        ids.update(record.id for record in run.cases)
        near = [record for record in run.cases if arguments.case in record.id]
        runs.append(replace(without_cases(run), cases=tuple(near)))
    case = case_id(arguments.case, ids)
    order = read_order(Path.cwd(), [each.commit.id for each in runs if each.commit is not None and each.commit.id])
    return points_by_case(runs, arguments.metric, order).get(case, ())


def _lines(points: Sequence[Point]) -> list[str]:
    """Render the table of runs, and name the commits at which the level changed."""
    newest = points[-1]
    found = _found(points)
    rows = [
        (
            point.run.taken_at,
            commit_line(point.run.commit) or "-",
            format_value(point.value, point.unit),
            format_percent(noise_percent_of(point.value, point.iqr)),
            _word(found.get(at), point, newest),
        )
        for at, point in enumerate(points)
    ]
    head = f"{newest.case_id}: {newest.metric}, {counted(len(points), 'run')} of {newest.run.label}"
    sentences = list(change_sentences(points, found))
    return [head, *lay_out(_COLUMNS, rows, columns()), "", *(sentences or ["no lasting change of level"])]


def _plain(label_summary: LabelSummary, points: Sequence[Point]) -> dict[str, object]:
    newest, found = points[-1], _found(points)
    return {
        "device": label_summary.device.fingerprint,
        "label": label_summary.label,
        "case": newest.case_id,
        "metric": newest.metric,
        "unit": newest.unit,
        "points": [
            {
                "run": point.run.id,
                "taken_at": point.run.taken_at,
                "commit": to_builtins(point.run.commit),
                "value": point.value,
                "iqr": point.iqr,
                "same_workload": alike(point, newest),
                "change_pct": found[at].percent if at in found else None,
            }
            for at, point in enumerate(points)
        ],
    }


def _found(points: Sequence[Point]) -> Mapping[int, Shift]:
    """Find changes of level; empty if the package for that is not installed, so that the table is still printed."""
    try:
        return level_changes(points)
    except UsageError as error:
        echo_error(str(error))
        return {}


def _word(shift: Shift | None, point: Point, newest: Point) -> str:
    if not alike(point, newest):
        return "other workload"
    return change_words(shift, point) if shift is not None else ""

"""The history of a case on the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_devperf.english import counted
from pytest_devperf.errors import UsageError
from pytest_devperf.record.outline import AnyRun, RunOutline
from pytest_devperf.report.header import commit_line
from pytest_devperf.report.html.charts import shortened
from pytest_devperf.report.html.elements import Content, el
from pytest_devperf.report.html.figures import figure
from pytest_devperf.report.past import Point, alike, change_sentences, level_changes, points_by_case
from pytest_devperf.report.units import scale_for

FEWEST = 2
"""Runs that make a history."""

_COMMIT_DIGITS = 7
"""Digits of a commit's id that git shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A case over the runs of a label."""

    runs: str
    """Which runs they are, in words."""
    metric: str
    numbers: Mapping[str, Any]
    sentences: Sequence[str]
    """Changes of level, or why none were looked for."""


def pasts_of(runs: Iterable[AnyRun]) -> Mapping[str, Past]:
    """Prepare the history of every case that several runs hold.

    Args:
        runs: Of one label of one device, in any order.
    """
    return {case_id: _past(points) for case_id, points in points_by_case(runs).items() if len(points) >= FEWEST}


def past_figure(name: str, past: Past, numbers: dict[str, Any]) -> Content:
    """Write the place of the history's chart, with the same in words."""
    numbers[name] = past.numbers
    words = past.runs
    if past.numbers["other"]:
        words += f", {len(past.numbers['other'])} of them with another workload (hollow)"
    return el(
        "section",
        figure(name, "past", [el("bdi", past.metric), ", history"], "; ".join((words, *past.sentences)), None),
        el("details", el("summary", "This history as a table"), data_table=name, class_="numbers"),
    )


def _past(points: Sequence[Point]) -> Past:
    newest = points[-1]
    unit, size = scale_for(newest.value, newest.unit)
    try:
        found = level_changes(points)
        sentences = list(change_sentences(points, found)) or ["no lasting change of level"]
    except UsageError as error:
        found, sentences = {}, [f"changes of level are not shown: {error}"]
    levels: list[list[float]] = []
    for at, shift in found.items():
        before = levels[-1][1] if levels else 0
        levels.append([before, at, shortened(shift.before / size)])
        last = shift.after
    if levels:
        levels.append([levels[-1][1], len(points), shortened(last / size)])
    numbers = {
        "unit": unit,
        "mid": [shortened(point.value / size) for point in points],
        "iqr": [None if point.iqr is None else shortened(point.iqr / size) for point in points],
        "at": [point.run.taken_at for point in points],
        "commit": [_commit(point.run) for point in points],
        "other": [at for at, point in enumerate(points) if not alike(point, newest)],
        "levels": levels,
    }
    return Past(
        runs=_runs_words(points),
        metric=newest.metric,
        numbers=numbers,
        sentences=sentences,
    )


def _runs_words(points: Sequence[Point]) -> str:
    """Count the runs, and name their label if those that have one have the same."""
    labels = [point.run.label for point in points if point.run.label]
    if len(set(labels)) != 1:
        return counted(len(points), "run")
    rest = len(points) - len(labels)
    return f"{counted(len(labels), 'run')} of {labels[0]}{f', and {rest} not saved' if rest else ''}"


def _commit(run: RunOutline) -> str:
    line = commit_line(run.commit)
    return f"{line[:_COMMIT_DIGITS]}{' with changes' if run.commit and run.commit.dirty else ''}" if line else ""

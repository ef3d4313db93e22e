"""A case over all runs of a label, and its changes of level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from sys import intern

from pytest_devperf.compare.shift import Shift, shifts
from pytest_devperf.metric import Better
from pytest_devperf.record.outline import AnyRun, CaseOutline, MetricOutline, RunOutline, without_cases
from pytest_devperf.record.record import Measurement, Record
from pytest_devperf.report.header import commit_line
from pytest_devperf.report.units import format_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A case in one run. There may be a million of them, so they have no more than a history shows."""

    run: RunOutline
    """The run without its cases."""
    case_id: str
    workload: str
    """Fingerprint of the work."""
    metric: str
    unit: str
    better: Better
    value: float
    iqr: float | None


def points_by_case(
    runs: Iterable[AnyRun], metric: str | None = None, order: Mapping[str, int] | None = None
) -> Mapping[str, Sequence[Point]]:
    """Collect every case over the runs of one device, oldest first; only what passed and has a value.

    Args:
        runs: In any order.
        metric: Name of the metric; None: the main one of each record, or its first.
        order: Place of each commit in its history, for runs in the order of commits; used only if it contains the
            commit of every run.
    """
    heads: list[RunOutline] = []
    found: dict[str, list[Point]] = {}
    for run in runs:
        head = without_cases(run)
        heads.append(head)
        for record in run.cases:
            chosen = choose_metric(record, metric) if record.outcome == "passed" else None
            if chosen is not None and chosen.robust is not None:
                found.setdefault(record.id, []).append(_point(head, record, chosen, chosen.robust))
    ranks = {id(head): rank for rank, head in enumerate(_sorted(heads, order or {}))}
    for points in found.values():
        points.sort(key=lambda point: ranks[id(point.run)])
    return found


def _point(head: RunOutline, record: Record | CaseOutline, metric: Measurement | MetricOutline, value: float) -> Point:
    """Make a point that shares its texts with those of other runs."""
    return Point(
        run=head,
        case_id=intern(record.id),
        workload=intern(record.workload.fingerprint),
        metric=intern(metric.name),
        unit=intern(metric.unit),
        better=metric.better,
        value=value,
        iqr=metric.iqr,
    )


def _sorted(runs: Sequence[RunOutline], order: Mapping[str, int]) -> Sequence[RunOutline]:
    """Sort runs by commit and time, or by time alone if the place of a commit is not known."""
    places = [order.get(each.commit.id or "") if each.commit is not None else None for each in runs]
    known = [place for place in places if place is not None]
    first = known if len(known) == len(runs) else [0] * len(runs)
    return [run for _, _, run in sorted(zip(first, [each.taken_at for each in runs], runs, strict=True), key=_place)]


def _place(each: tuple[int, str, RunOutline]) -> tuple[int, str]:
    return each[:2]


def choose_metric(record: Record | CaseOutline, name: str | None) -> Measurement | MetricOutline | None:
    """Choose the metric with a name, or the main one, or the first; None if it has no value."""
    held = [each for each in record.metrics if each.robust is not None and name in {None, each.name}]
    return next((each for each in held if each.main), held[0] if held else None)


def alike(point: Point, newest: Point) -> bool:
    """Return whether a point has the same workload as the newest one."""
    return point.workload == newest.workload


def level_changes(points: Sequence[Point]) -> Mapping[int, Shift]:
    """Find changes of level: index of the first point of each new level -> the change.

    Points of another workload than the newest one's are passed over.

    Raises:
        UsageError: The package that finds them is not installed.
    """
    same = [at for at, point in enumerate(points) if alike(point, points[-1])]
    found = shifts([points[at].value for at in same], widths=[points[at].iqr or 0.0 for at in same])
    return {same[shift.at]: shift for shift in found}


def change_words(shift: Shift, point: Point) -> str:
    """Describe how a level changed, in a few words."""
    worse = (shift.percent > 0) == (point.better == "lower")
    words = ("slower", "faster") if point.unit == "ms" else ("worse", "better")
    return f"{words[0] if worse else words[1]} {shift.percent:+.1f} %"


def change_sentences(points: Sequence[Point], found: Mapping[int, Shift]) -> Iterator[str]:
    """Name the commit of each change, and the last one of the level before."""
    for at, shift in found.items():
        point, unit = points[at], points[at].unit
        values = f"{format_value(shift.before, unit)} -> {format_value(shift.after, unit)}"
        since = commit_line(point.run.commit) or f"the run of {point.run.taken_at}"
        last = commit_line(points[at - 1].run.commit)
        before = f"; the last commit before is {last}" if last else ""
        yield f"{change_words(shift, point)} since {since}: {values}{before}"

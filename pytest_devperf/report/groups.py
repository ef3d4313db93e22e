"""The cases of a report in the order in which people read them: what needs attention first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_devperf.english import counted
from pytest_devperf.record.record import Change, Record, Run
from pytest_devperf.report.outcome import OUTCOMES
from pytest_devperf.report.report import Report, kind_of
from pytest_devperf.report.terminal.text import reasons
from pytest_devperf.untrusted import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One case of a report, or one that its baseline has and the run does not."""

    kind: str
    """What became of it, one of `OUTCOMES`."""
    id: str
    run: int
    """Index of its run in `Report.runs`."""
    record: Record | None = None
    """None: the case is missing."""
    reasons: tuple[str, ...] = ()
    """Why it is not a plain pass."""

    @property
    def reason(self) -> str:
        """All reasons in one line."""
        return "; ".join(self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Entries that belong together."""

    title: str
    noun: str
    """What one of them is called in a count."""
    quiet: bool = False
    """Whether nobody needs to look at them."""
    compared: bool = True
    """Whether their numbers were compared; else there is only a reason."""
    entries: tuple[Entry, ...] = ()


_GROUPS = (
    Group(title="Regressions", noun="regression"),
    Group(title="Failed tests", noun="failed test"),
    Group(title="Suspects: slower, but not proven", noun="suspect"),
    Group(title="Improvements", noun="improvement"),
    Group(title="Not judged", noun="unjudged case", compared=False),
    Group(title="Unchanged", noun="unchanged case", quiet=True),
    Group(title="Measured", noun="measured case", quiet=True),
)
"""Every outcome belongs to one of these, by its title."""


def entries(report: Report) -> Iterator[Entry]:
    """Give every case in the order of the report, and after the cases of each run what is missing from it."""
    for at, run in enumerate(report.runs):
        why = {(reason.kind, reason.id): reason.parts for reason in reasons(run)}
        for record in run.cases:
            kind = kind_of(record)
            yield Entry(kind=kind, id=record.id, run=at, record=record, reasons=why.get((kind, record.id), ()))
        for case_id in run.missing:
            yield Entry(kind="missing", id=case_id, run=at, reasons=why.get(("missing", case_id), ()))


def grouped(report: Report) -> Sequence[Group]:
    """Sort the entries into groups; regressions by their size, the others as they came. Empty groups are left out."""
    found: dict[str, list[Entry]] = {kind: [] for kind in OUTCOMES}
    for entry in entries(report):
        found[entry.kind].append(entry)
    found["regressed"].sort(key=lambda entry: -size_of(entry))
    groups = (
        replace(
            group,
            entries=tuple(each for kind in OUTCOMES if group.title == OUTCOMES[kind].group for each in found[kind]),
        )
        for group in _GROUPS
    )
    return [group for group in groups if group.entries]


def leading_change(record: Record) -> Change | None:
    """Choose the change that a case is shown by: the largest with the verdict of the case, else the main metric's."""
    if record.comparison is None:
        return None
    changes = record.comparison.changes
    same = [change for change in changes if change.verdict == record.comparison.verdict]
    main = next((metric.name for metric in record.metrics if metric.main), None)
    if record.comparison.verdict in {"regressed", "suspect", "improved"} and same:
        return max(same, key=lambda change: abs(change.delta_pct or 0.0))
    return next((change for change in changes if change.metric == main), same[0] if same else None)


def size_of(entry: Entry) -> float:
    """Give the size of a case's leading change in percent; 0 if it has none."""
    change = leading_change(entry.record) if entry.record is not None else None
    return abs(change.delta_pct or 0.0) if change is not None else 0.0


def headline(report: Report) -> str:
    """Return the result of a report in one sentence.

    >>> headline(Report())
    'No case was measured'
    """
    counts = report.counts
    total = sum(counts.values())
    if not total:
        return "No case was measured"
    if counts.get("regressed"):
        return f"{counts['regressed']} of {counted(total, 'case')} regressed"
    broken = counts.get("failed", 0) + counts.get("error", 0)
    if broken:
        return f"{broken} of {counted(total, 'case')} failed"
    if report.nothing_compared:
        return f"None of {counted(total, 'case')} was compared"
    if report.compared_with is None and not report.compared:
        return f"{counted(total, 'case')} measured"
    return f"No regression in {counted(report.compared, 'compared case')}"


def run_names(report: Report) -> tuple[str, ...]:
    """Name the runs of a report so that no two are alike: by device, else by label, time or number too."""
    names = [_device_name(run) for run in report.runs]
    more = ([run.label for run in report.runs], [run.taken_at for run in report.runs], range(1, len(names) + 1))
    for facts in more:
        doubles = {name for name in names if names.count(name) > 1}
        names = [
            f"{name}, {fact}" if name in doubles and fact else name for name, fact in zip(names, facts, strict=True)
        ]
    return tuple(map(printable, names))


def _device_name(run: Run) -> str:
    device = run.device
    return " ".join(word for word in (device.manufacturer, device.model) if word) or device.soc or device.kind

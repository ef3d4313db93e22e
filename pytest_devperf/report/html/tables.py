"""The tables of a case."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_devperf.record.record import Record
from pytest_devperf.report.detail import stable_lines
from pytest_devperf.report.html.elements import Content, Html, el
from pytest_devperf.report.html.state import Fact, Side, facts
from pytest_devperf.report.row import COMPARED, MEASURED, compared_rows, measured_rows
from pytest_devperf.report.units import NOT_KNOWN


def metrics_table(record: Record) -> Content:
    """Write every metric in numbers."""
    columns, rows = (
        (COMPARED, compared_rows(record, all_metrics=True))
        if record.comparison is not None
        else (MEASURED, measured_rows(record, all_metrics=True))
    )
    if not any(any(row[1:]) for row in rows):
        return None
    return [
        el("h2", "All metrics"),
        *(el("p", line, class_="stable") for line in stable_lines(record)[:1]),
        table("All metrics", [column.heading for column in columns[1:]], [row[1:] for row in rows]),
    ]


def state_table(now: Side, then: Side | None) -> Content:
    """Set what a case was measured under beside its baseline, differences marked."""
    found = facts(now, then)
    differing = sum(fact.differs for fact in found)
    if then is None:
        rows = [(fact.name, fact.now or NOT_KNOWN) for fact in found]
        return [el("h2", "Context"), table("Context", ["fact", "now"], rows)]
    title = f"Context: {f'{differing} of {len(found)} facts differ' if differing else 'nothing differs'}"
    sides = [(fact.name, fact.then or NOT_KNOWN, _now(fact)) for fact in found]
    return [el("h2", title), table(title, ["fact", "baseline", "now"], sides, class_="scroll context")]


def _now(fact: Fact) -> Content:
    words = fact.now or NOT_KNOWN
    return el("b", words, el("span", " differs", class_="differs")) if fact.differs else words


def table(name: str, headings: Sequence[str], rows: Sequence[Sequence[Content]], *, class_: str = "scroll") -> Html:
    """Write a table whose first column names its rows; a narrow window scrolls it, so it can have the focus."""
    head = el("tr", *(el("th", heading, scope="col") for heading in headings))
    body = [
        el("tr", el("th", el("bdi", first), scope="row"), *(el("td", cell) for cell in others))
        for first, *others in rows
    ]
    rows_and_head = el("table", el("thead", head), el("tbody", *body))
    return el("div", rows_and_head, class_=class_, tabindex="0", role="group", aria_label=name)

"""The tables of a case."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_devperf.record.record import Record
from pytest_devperf.report.detail import stable_lines
from pytest_devperf.report.html.elements import Content, Html, el
from pytest_devperf.report.html.state import Side, facts
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
        el("h4", "All metrics"),
        *(el("p", line, class_="stable") for line in stable_lines(record)[:1]),
        data_table([column.heading for column in columns[1:]], [row[1:] for row in rows]),
    ]


def data_table(headings: Sequence[str], rows: Sequence[Sequence[Content]], *, class_: str | None = None) -> Html:
    """Write a table whose first column names its rows."""
    head = el("tr", *(el("th", heading, scope="col") for heading in headings))
    body = [el("tr", el("th", row[0], scope="row"), *(el("td", cell) for cell in row[1:])) for row in rows]
    return el(
        "div",
        el("table", el("thead", head), el("tbody", *body)),
        class_=f"scroll {class_ or ''}".strip(),
        tabindex="0",
        role="region",
        aria_label="Table",
    )


def state_table(now: Side, then: Side | None) -> Content:
    """Set what a case was measured under beside its baseline, differences marked."""
    found = facts(now, then)
    differing = sum(fact.differs for fact in found)
    if then is None:
        return [
            el("h4", "Context"),
            data_table(["", "now"], [(fact.name, fact.now or NOT_KNOWN) for fact in found]),
        ]
    rows = [
        (
            fact.name,
            fact.then or NOT_KNOWN,
            el("b", fact.now or NOT_KNOWN, el("span", " differs", class_="differs"))
            if fact.differs
            else fact.now or NOT_KNOWN,
        )
        for fact in found
    ]
    title = "Context: nothing differs" if not differing else f"Context: {differing} of {len(found)} facts differ"
    return [el("h4", title), data_table(["", "baseline", "now"], rows, class_="context")]

"""One case of the page: a line that says what became of it, and what unfolds below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_devperf.compare.words import sentence
from pytest_devperf.metric import TOLD_ONLY
from pytest_devperf.record.record import Change, Measurement, Record, Run
from pytest_devperf.report.detail import caution_words, stable_lines
from pytest_devperf.report.groups import Entry, leading_change
from pytest_devperf.report.html.charts import Charts, charts_of
from pytest_devperf.report.html.elements import Content, Html, el
from pytest_devperf.report.html.past import Past, past_figure
from pytest_devperf.report.html.state import Side, facts
from pytest_devperf.report.paint import TONES
from pytest_devperf.report.row import COMPARED, MEASURED, compared_rows, measured_rows, noise_percent, word
from pytest_devperf.report.units import NOT_KNOWN, format_pair, format_percent, format_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything that the page shows of one case."""

    entry: Entry
    run: Run
    on: str = ""
    """Name of its run, if the report has several."""
    before: Sequence[Side] = ()
    """The case in the runs of its baseline, newest first."""
    past: Past | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A case as HTML, and the numbers of its charts by the id of the figure."""

    html: Html
    numbers: Mapping[str, Any] = field(default_factory=dict)


def write_case(case: Case, at: int, *, unfolded: bool) -> Written:
    """Write a case.

    Args:
        case: What is shown.
        at: Its number on the page.
        unfolded: Whether its details show at once.
    """
    entry, numbers = case.entry, dict[str, Any]()
    change = leading_change(entry.record) if entry.record is not None else None
    details = list(_details(case, at, numbers)) if entry.record is not None else [_reasons(case)]
    folded = el(
        "details",
        el("summary", *_line(case, change)),
        el("div", *details, class_="body"),
        id=f"case-{at}",
        open=unfolded,
    )
    item = el(
        "li",
        folded,
        class_=f"case {TONES.get(entry.kind, 'quiet')}",
        data_kind=entry.kind,
        data_text=f"{entry.id} {case.on}".lower(),
        data_change="" if change is None or change.delta_pct is None else f"{change.delta_pct:.4g}",
        data_noise="" if (noise := noise_percent(change) if change else None) is None else f"{noise:.4g}",
    )
    return Written(item, numbers)


def badge(kind: str) -> Html:
    """Write a verdict with its colour."""
    return el("span", word(kind), class_=f"badge {TONES.get(kind, 'quiet')}")


def _line(case: Case, change: Change | None) -> Iterator[Html]:
    """Write the line that always shows, in columns; each number names itself to who cannot see the columns."""
    record = case.entry.record
    on = el("span", f" on {case.on}", class_="on") if case.on else None
    yield el("span", el("bdi", case.entry.id), on, class_="name")
    yield badge(case.entry.kind)
    metric = _shown_metric(record, change)
    then, now = _values(change, metric)
    noise = noise_percent(change) if change is not None else _noise(metric)
    name = change.metric if change is not None else metric.name if metric is not None else ""
    yield el("span", el("bdi", name), class_="metric")
    yield _cell("baseline", then)
    yield _cell("now", now)
    yield _cell("change", format_percent(change.delta_pct, sign=True) if change is not None else NOT_KNOWN)
    yield _cell("noise", format_percent(noise))
    yield _cell("detectable", format_percent(change.detectable_pct) if change is not None else NOT_KNOWN)
    yield el("span", _gauge(change), class_="gauge")


def _cell(name: str, text: str) -> Html:
    return el("span", el("span", f"{name} ", class_="label"), text, class_=f"number {name}")


def _shown_metric(record: Record | None, change: Change | None) -> Measurement | None:
    held = record.metrics if record is not None else ()
    if change is not None:
        return next((each for each in held if each.name == change.metric), None)
    return next((each for each in held if each.main), held[0] if held else None)


def _values(change: Change | None, metric: Measurement | None) -> tuple[str, str]:
    if change is not None:
        return format_pair(change.baseline, change.candidate, change.unit)
    return NOT_KNOWN, format_value(metric.robust, metric.unit) if metric is not None else NOT_KNOWN


def _noise(metric: Measurement | None) -> float | None:
    if metric is None or metric.iqr is None or not metric.robust:
        return None
    return 100 * metric.iqr / abs(metric.robust)


_GAUGE_WIDTH, _GAUGE_HEIGHT = 96, 14


def _gauge(change: Change | None) -> Content:
    """Draw a change on a line beside the threshold; the numbers beside it say the same."""
    if change is None or change.delta_pct is None or change.threshold is None or not change.baseline:
        return None
    threshold = 100 * change.threshold / abs(change.baseline)
    reach = 1.15 * max(abs(change.delta_pct), 2 * threshold) or 1.0
    middle, y = _GAUGE_WIDTH / 2, _GAUGE_HEIGHT / 2
    x, half = middle + change.delta_pct / reach * middle, threshold / reach * middle
    return el(
        "svg",
        el("rect", x=f"{middle - half:.1f}", y="1", width=f"{2 * half:.1f}", height=_GAUGE_HEIGHT - 2, class_="band"),
        el("line", x1="0", x2=_GAUGE_WIDTH, y1=y, y2=y, class_="axis"),
        el("line", x1=middle, x2=middle, y1="1", y2=_GAUGE_HEIGHT - 1, class_="axis"),
        el("line", x1=middle, x2=f"{x:.1f}", y1=y, y2=y, class_="delta"),
        el("circle", cx=f"{x:.1f}", cy=y, r="4", class_="dot"),
        viewBox=f"0 0 {_GAUGE_WIDTH} {_GAUGE_HEIGHT}",
        width=_GAUGE_WIDTH,
        height=_GAUGE_HEIGHT,
        aria_hidden="true",
    )


def _details(case: Case, at: int, numbers: dict[str, Any]) -> Iterator[Content]:
    record = case.entry.record
    assert record is not None
    yield _reasons(case)
    yield _cautions(record)
    for place, metric in enumerate(each for each in record.metrics if each.name not in TOLD_ONLY):
        change = _change_of(record, metric.name)
        befores = [found for side in case.before if (found := _metric_of(side.record, metric.name)) is not None]
        charts = charts_of(metric, change, befores)
        if charts is not None:
            yield _metric_figures(f"chart-{at}-{place}", metric, charts, numbers, many=len(befores))
    if case.past is not None:
        yield past_figure(f"past-{at}", case.past, numbers)
    yield _table(record)
    yield _state(case, record)


def _reasons(case: Case) -> Content:
    """Explain what became of the case, in sentences."""
    record = case.entry.record
    comparison = record.comparison if record is not None else None
    words = [case.entry.reason] if case.entry.reason else []
    if comparison is not None:
        told = [sentence(change) for change in comparison.changes if change.baseline is not None]
        words += [each for each in told if each not in case.entry.reason]
        words += [f"different: {note}" for note in comparison.notes]
    if record is not None:
        words += [f"{each.method} was not measured: {each.reason}" for each in record.skipped_methods]
    return el("ul", *(el("li", each) for each in words), class_="reasons") if words else None


def _cautions(record: Record) -> Content:
    found = list(caution_words(record))
    if not found:
        return None
    items = [el("li", el("b", slug), f": {words}" if words else None) for slug, words in found]
    return [el("h4", "Cautions"), el("ul", *items, class_="cautions")]


def _change_of(record: Record, name: str) -> Change | None:
    changes = record.comparison.changes if record.comparison is not None else ()
    return next((change for change in changes if change.metric == name), None)


def _metric_of(record: Record, name: str) -> Measurement | None:
    return next((metric for metric in record.metrics if metric.name == name), None)


def _metric_figures(name: str, metric: Measurement, charts: Charts, numbers: dict[str, Any], *, many: int) -> Content:
    """Write the places of a metric's charts, with the same in words, and what their marks mean."""
    numbers[name] = charts.numbers
    order = "rounds in the order they were taken" if metric.kind == "rounds" else "values in the order they were taken"
    return el(
        "section",
        el(
            "div",
            _figure(name, "rounds", [el("bdi", metric.name), f", {order}"], charts.rounds_words, _rounds_key(charts)),
            _figure(
                name,
                "spread",
                [el("bdi", metric.name), ", distribution"],
                charts.spread_words,
                _spread_key(charts, many),
            ),
            class_="pair",
        ),
        el("details", el("summary", "These numbers as a table"), data_table=name, class_="numbers"),
    )


def _figure(name: str, kind: str, title: Content, words: str, key: Content) -> Html:
    return el(
        "figure",
        el("h4", title),
        el("div", role="img", aria_label=f"Chart: {words}", data_chart=kind, data_numbers=name, class_=f"chart {kind}"),
        el("figcaption", el("span", words, class_="words"), key),
    )


def _rounds_key(charts: Charts) -> Html:
    before = "before" in charts.numbers
    return _key(
        ("now", "median of a round, with its middle half"),
        ("then", "median of a round of the baseline") if before else None,
        ("base", f"baseline {charts.then}") if charts.then else None,
        ("limit", f"a change counts from {charts.limit}") if charts.limit else None,
    )


def _spread_key(charts: Charts, many: int) -> Html:
    runs = f" ({many} runs)" if many > 1 else ""
    return _key(
        ("now", f"now {charts.now}"),
        ("then", f"baseline {charts.then}{runs}") if charts.then else None,
        ("limit", f"a change counts from {charts.limit}") if charts.limit else None,
    )


def _key(*marks: tuple[str, str] | None) -> Html:
    items = [el("li", el("span", class_=f"mark {mark}"), words) for mark, words in filter(None, marks)]
    return el("ul", *items, class_="key")


def _table(record: Record) -> Content:
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


def _state(case: Case, record: Record) -> Content:
    """Set what the case was measured under beside its baseline, differences marked."""
    now = Side(record=record, commit=case.run.commit, taken_at=case.run.taken_at)
    then = case.before[0] if case.before else None
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

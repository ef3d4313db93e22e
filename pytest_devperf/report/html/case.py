"""One case of the page: a line with its outcome, and the details that unfold below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_devperf.compare.words import sentence
from pytest_devperf.metric import INFORMATIONAL
from pytest_devperf.record.caution import CAUTIONS
from pytest_devperf.record.record import Change, Measurement, Record, Run
from pytest_devperf.report.detail import caution_words
from pytest_devperf.report.groups import Entry, leading_change
from pytest_devperf.report.html.elements import Content, Html, el
from pytest_devperf.report.html.figures import metric_figures
from pytest_devperf.report.html.flame import flame_figure
from pytest_devperf.report.html.past import Past, past_figure
from pytest_devperf.report.html.state import Side
from pytest_devperf.report.html.tables import metrics_table, state_table
from pytest_devperf.report.outcome import OUTCOMES, word
from pytest_devperf.report.row import noise_percent, own_noise_percent
from pytest_devperf.report.units import NOT_KNOWN, format_change, format_pair, format_percent, format_value


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
    noise = _noise(change, _shown_metric(entry.record, change))
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
        class_=f"case {OUTCOMES[entry.kind].tone or 'quiet'}",
        data_kind=entry.kind,
        data_text=f"{entry.id} {case.on}".lower(),
        data_change="" if change is None or change.delta_pct is None else f"{change.delta_pct:.4g}",
        data_noise="" if noise is None else f"{noise:.4g}",
    )
    return Written(item, numbers)


def badge(kind: str) -> Html:
    """Write a verdict with its colour."""
    return el("span", word(kind), class_=f"badge {OUTCOMES[kind].tone or 'quiet'}")


def _line(case: Case, change: Change | None) -> Iterator[Html]:
    """Write the line that always shows, in columns; each number names itself to who cannot see the columns."""
    record = case.entry.record
    on = el("span", f" on {case.on}", class_="on") if case.on else None
    yield el("span", el("bdi", case.entry.id), on, class_="name")
    yield badge(case.entry.kind)
    metric = _shown_metric(record, change)
    then, now = _values(change, metric)
    noise = _noise(change, metric)
    name = change.metric if change is not None else metric.name if metric is not None else ""
    yield el("span", el("bdi", name), class_="metric")
    yield _cell("baseline", then)
    yield _cell("now", now)
    yield _cell("change", format_change(change.delta_pct, change.unit) if change is not None else NOT_KNOWN)
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


def _noise(change: Change | None, metric: Measurement | None) -> float | None:
    if change is not None:
        return noise_percent(change)
    return own_noise_percent(metric) if metric is not None else None


_GAUGE_WIDTH, _GAUGE_HEIGHT = 96, 14


def _gauge(change: Change | None) -> Content:
    """Draw a change on a line beside the threshold; the numbers beside it show the same."""
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
    for place, metric in enumerate(each for each in record.metrics if each.name not in INFORMATIONAL):
        change = _change_of(record, metric.name)
        befores = [found for side in case.before if (found := _metric_of(side.record, metric.name)) is not None]
        yield metric_figures(f"chart-{at}-{place}", metric, change, befores, numbers)
    yield flame_figure(f"flame-{at}", record, [side.record for side in case.before], numbers)
    if case.past is not None:
        yield past_figure(f"past-{at}", case.past, numbers)
    yield metrics_table(record)
    now = Side(record=record, commit=case.run.commit, taken_at=case.run.taken_at)
    yield state_table(now, case.before[0] if case.before else None)


def _reasons(case: Case) -> Content:
    """Explain what became of the case, a sentence for each metric."""
    record = case.entry.record
    comparison = record.comparison if record is not None else None
    words = list(case.entry.reasons)
    if comparison is not None:
        words += [sentence(change) for change in comparison.changes if change.baseline is not None]
        words += [f"note: {note}" for note in comparison.notes]
    if record is not None:
        words += [f"{each.method} was not measured: {each.reason}" for each in record.skipped_methods]
    return el("ul", *(el("li", each) for each in dict.fromkeys(words)), class_="reasons") if words else None


def _cautions(record: Record) -> Content:
    found = list(caution_words(record))
    if not found:
        return None
    items = [el("li", el("b", slug), f": {words}" if words else None, _remedy(slug)) for slug, words in found]
    return [el("h2", "Cautions"), el("ul", *items, class_="cautions")]


def _remedy(slug: str) -> str | None:
    """Return the remedy for a caution that refuses a comparison."""
    remedy = CAUTIONS[slug].remedy if slug in CAUTIONS else ""
    return f". What to do: {remedy}." if remedy else None


def _change_of(record: Record, name: str) -> Change | None:
    changes = record.comparison.changes if record.comparison is not None else ()
    return next((change for change in changes if change.metric == name), None)


def _metric_of(record: Record, name: str) -> Measurement | None:
    return next((metric for metric in record.metrics if metric.name == name), None)

"""The places of a metric's charts on the page, with the same in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_devperf.record.record import Change, Measurement
from pytest_devperf.report.html.charts import Charts, charts_of
from pytest_devperf.report.html.elements import Content, Html, el


def metric_figures(
    name: str, metric: Measurement, change: Change | None, befores: Sequence[Measurement], numbers: dict[str, Any]
) -> Content:
    """Write the charts of a metric: its rounds over time, and its distribution beside the baseline's.

    Args:
        name: Id of its numbers.
        metric: Its measurement.
        change: Its comparison, if there is one.
        befores: The same metric in the runs of the baseline, newest first.
        numbers: Takes the numbers that are drawn.
    """
    charts = charts_of(metric, change, befores)
    if charts is None:
        return None
    numbers[name] = charts.numbers
    timed = metric.kind == "rounds"
    rows = "rounds" if timed else "values"
    return el(
        "section",
        el(
            "div",
            figure(
                name,
                "rounds",
                [el("bdi", metric.name), f", {rows} in the order they were taken"],
                charts.rounds_words,
                _rounds_key(charts, timed=timed),
            ),
            figure(
                name,
                "spread",
                [el("bdi", metric.name), ", distribution"],
                charts.spread_words,
                _spread_key(charts, len(befores), timed=timed),
            ),
            class_="pair",
        ),
        el("details", el("summary", "These numbers as a table"), data_table=name, class_="numbers"),
    )


def figure(name: str, kind: str, title: Content, words: str, marks: Content, *, role: str = "img") -> Html:
    """Write the place of one chart: its title, what it shows in words, and what its marks mean.

    Args:
        name: Id of its numbers.
        kind: How page.js draws it.
        title: Its title.
        words: What it shows.
        marks: What its marks mean.
        role: `img`, or `group` if parts of it can have the focus.
    """
    return el(
        "figure",
        el("h2", title),
        el("div", role=role, aria_label=f"Chart: {words}", data_chart=kind, data_numbers=name, class_=f"chart {kind}"),
        el("figcaption", el("span", words, class_="words"), marks),
    )


def _rounds_key(charts: Charts, *, timed: bool) -> Html:
    row = "median of a round" if timed else "value of a process start"
    return key(
        ("now", f"{row}, with its middle half" if timed else row),
        ("then", f"{row} of the baseline") if "before" in charts.numbers else None,
        ("base", f"baseline {charts.then}") if charts.then else None,
        ("limit", f"a change counts from {charts.limit}") if charts.limit else None,
    )


def _spread_key(charts: Charts, runs: int, *, timed: bool) -> Html:
    """Explain the marks; rounds are compared by their lowest median, and most values may lie elsewhere."""
    of = ", lowest round median" if timed else ""
    many = f" of {runs} runs" if runs > 1 else ""
    return key(
        ("now", f"now {charts.now}{of}"),
        ("then", f"baseline {charts.then}{of}{many}") if charts.then else None,
        ("limit", f"a change counts from {charts.limit}") if charts.limit else None,
    )


def key(*marks: tuple[str, str] | None) -> Html:
    """Explain the marks of a chart, each by its class and in words."""
    items = [el("li", el("span", class_=f"mark {mark}"), words) for mark, words in filter(None, marks)]
    return el("ul", *items, class_="key")

"""The numbers of cases in the report of pytest-html: a column, and a table in the details of each case."""

from __future__ import annotations

from html import escape
from typing import Any

import msgspec
import pytest

from pytest_devperf.record.record import Record
from pytest_devperf.record.rows import read_rows
from pytest_devperf.report.detail import caution_lines
from pytest_devperf.report.groups import leading_change
from pytest_devperf.report.outcome import word
from pytest_devperf.report.report import kind_of
from pytest_devperf.report.terminal.text import table_lines
from pytest_devperf.report.units import format_percent, format_value

DETAIL_WIDTH = 110
"""Characters of a line of the details, which fit a window of ordinary width."""

PLACE = 2
"""Index of our column: after the result and the name of the test."""


class PytestHtml:
    """Implements the hooks of pytest-html."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Add a column."""
        cells.insert(PLACE, "<th>Performance</th>")

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:  # noqa: ANN401 - also of collection
        """Show the main value of a case."""
        record = _record_of(report)
        cells.insert(PLACE, f"<td>{escape(_main_value(record)) if record is not None else ''}</td>")

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_html(self, report: Any, data: list[str]) -> None:  # noqa: ANN401 - as above
        """Show all values of a case above its output."""
        record = _record_of(report)
        if record is not None:
            lines = [*table_lines([record], width=DETAIL_WIDTH, all_metrics=True), *caution_lines(record)]
            data.insert(0, escape("\n".join(lines)) + "\n")


def _record_of(report: Any) -> Record | None:  # noqa: ANN401 - a test's report, or that of a file
    plain = getattr(report, "devperf", None)
    return None if plain is None else msgspec.convert(plain, Record, dec_hook=read_rows)


def _main_value(record: Record) -> str:
    """Format what a case is judged by: its value, its change and its verdict.

    A case that was not measured has a verdict alone.
    """
    kind, change = word(kind_of(record)), leading_change(record)
    main = next((metric for metric in record.metrics if metric.main), next(iter(record.metrics), None))
    if change is not None and change.candidate is not None:
        delta = "" if change.delta_pct is None else f" ({format_percent(change.delta_pct, sign=True)})"
        return f"{change.metric} {format_value(change.candidate, change.unit)}{delta}, {kind}"
    if main is not None:
        return f"{main.name} {format_value(main.robust, main.unit)}, {kind}"
    return kind

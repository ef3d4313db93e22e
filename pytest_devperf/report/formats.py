"""The formats of a report as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pytest_devperf.compare.history import Baseline
from pytest_devperf.record.outline import AnyRun
from pytest_devperf.report.report import Report

Baselines = Mapping[str, Mapping[str, Baseline]]
"""Fingerprint of the device -> case id -> baseline."""

Histories = Mapping[str, Iterable[AnyRun]]
"""Fingerprint of the device -> the runs of a label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One kind of file that a report can be."""

    suffixes: tuple[str, ...]
    write: Callable[[Report, Baselines, Histories], str]
    shows_histories: bool = False


def _write_html(report: Report, baselines: Baselines, histories: Histories) -> str:
    from pytest_devperf.report.html.page import render

    return render(report, baselines=baselines, histories=histories)


def _write_markdown(report: Report, baselines: Baselines, histories: Histories) -> str:  # noqa: ARG001 - no charts
    from pytest_devperf.report.markdown.text import render

    return render(report)


FORMATS: Mapping[str, Format] = {
    "html": Format(suffixes=(".html", ".htm"), write=_write_html, shows_histories=True),
    "markdown": Format(suffixes=(".md", ".markdown"), write=_write_markdown),
}
"""Name of the format, as `devperf report --format` and the options of a session spell it -> what it writes."""

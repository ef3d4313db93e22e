"""Which renderers there are: a format is a module `as_<format>` with `render(report) -> str`."""

from __future__ import annotations

from importlib import import_module

from pytest_devperf.errors import UsageError
from pytest_devperf.report.report import Report

FORMATS = ("text", "json")
"""Formats by name; each is imported when it is first asked for."""


def rendered(report: Report, form: str) -> str:
    """Write a report in a format.

    Raises:
        UsageError: There is no such format.
    """
    if form not in FORMATS:
        raise UsageError(f"there is no report format {form!r}", f"use one of {', '.join(FORMATS)}")
    module = import_module(f"pytest_devperf.report.as_{form}")
    text: str = module.render(report)
    return text

"""A report as a run document."""

from __future__ import annotations

from pytest_devperf.record.codec import encode
from pytest_devperf.record.record import Document
from pytest_devperf.report.report import Report


def document(report: Report) -> Document:
    """Put the runs of all devices into one document."""
    return Document(runs=report.runs)


def render(report: Report) -> str:
    """Write the document.

    Raises:
        StoreError: It holds a number that JSON cannot hold.
    """
    return encode(document(report)).decode()

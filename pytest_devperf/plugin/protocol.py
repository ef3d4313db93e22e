"""Running one test without reporting it yet."""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol


class _Subtests:
    """Hears of failed subtests, which report themselves while their test runs."""

    def __init__(self, nodeid: str) -> None:
        self._nodeid = nodeid
        self.failed: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a failure; the test's own reports are not sent yet."""
        if report.nodeid == self._nodeid and report.failed:
            self.failed.append(report)


def run_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> tuple[list[pytest.TestReport], list[pytest.TestReport]]:
    """Run a test as pytest does, and keep its reports; a failed subtest fails it.

    Returns:
        The reports of the test, and those of its failed subtests, which pytest has shown already.
    """
    subtests = _Subtests(item.nodeid)
    item.config.pluginmanager.register(subtests)
    try:
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    finally:
        item.config.pluginmanager.unregister(subtests)
    count = len(subtests.failed)
    for report in reports:
        if count and report.when == "call" and report.passed:
            report.outcome = "failed"
            report.longrepr = f"contains {count} failed subtest{'s' if count > 1 else ''}"
    return reports, subtests.failed

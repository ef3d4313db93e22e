"""The reports of the tests behind the cases, and how verdicts change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_devperf.plugin.terminal import Sentence
from pytest_devperf.record.rows import plain_rows
from pytest_devperf.report.detail import brief_failure_text, failure_text
from pytest_devperf.report.properties import properties_of
from pytest_devperf.session.cases.case_state import CaseState, TestOutcome

if TYPE_CHECKING:
    from pytest_devperf.targets.app.wire import CaseReport

REGRESSED = "devperf_regressed"
"""Attribute of a report whose test failed only because of its verdict."""


_SKIPPED = "Skipped: "
"""What pytest puts before the reason of a skip."""


def is_strict_xpass(report: pytest.TestReport) -> bool:
    """Return whether a strict `xfail` test failed because it passed."""
    return (
        report.when == "call"
        and report.failed
        and isinstance(report.longrepr, str)
        and report.longrepr.startswith("[XPASS(strict)]")
    )


def outcome_of(reports: Sequence[pytest.TestReport]) -> TestOutcome:
    """Return the outcome of a test from its reports."""
    failed = next((report for report in reports if report.failed and not is_strict_xpass(report)), None)
    if failed is not None:
        crash = getattr(failed.longrepr, "reprcrash", None)
        text = crash.message if crash is not None else failed.longreprtext
        return TestOutcome("failed" if failed.when == "call" else "error", text.strip().partition("\n")[0] or None)
    skipped = next((report for report in reports if report.skipped), None)
    if skipped is None:
        return TestOutcome()
    if hasattr(skipped, "wasxfail"):
        return TestOutcome("skipped", f"failed as expected: {skipped.wasxfail}".rstrip(": "), expected=True)
    longrepr = skipped.longrepr
    words = str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr or "")
    return TestOutcome("skipped", words.removeprefix(_SKIPPED) or None)


@dataclass(slots=True, kw_only=True)
class RanTest:
    """The test of a case, and its reports for pytest."""

    item: pytest.Item
    nodeid: str
    reports: list[pytest.TestReport] = field(default_factory=list)
    duration_s: float = 0.0

    @property
    def call_report(self) -> pytest.TestReport:
        """The report of the call, or the last one if there was no call; never a subtest's, which has a context."""
        own = [report for report in self.reports if not hasattr(report, "context")]
        return next((report for report in own if report.when == "call"), own[-1])

    def add_properties(self, properties: Sequence[tuple[str, object]]) -> None:
        """Add properties as pytest does for a test's body: to the call's report and later ones."""
        own = self.reports.index(self.call_report)
        for report in self.reports[own:]:
            report.user_properties.extend(properties)

    def fail(self, message: str, section: str, *, brief: str | None = None, regressed: bool = False) -> None:
        """Turn the reports into a failure with a message.

        Args:
            message: Text in the short summary and in JUnit.
            section: Text of the failure if nothing else is shown, as in JUnit.
            brief: Text of the failure's section on the terminal; None: `section`.
            regressed: Whether it fails only because of its verdict.
        """
        report = self.call_report
        strict = is_strict_xpass(report)
        report.longrepr = Sentence(message, section, report.location, brief=brief)
        if regressed and (strict or hasattr(report, "wasxfail")):
            if not hasattr(report, "wasxfail"):
                mark = self.item.get_closest_marker("xfail")
                report.wasxfail = str(mark.kwargs.get("reason", "")) if mark else ""
            report.outcome = "skipped"
            return
        report.outcome = "failed"
        if regressed:
            setattr(report, REGRESSED, True)


class Reports:
    """Knows the test of every case, and reports its results as pytest would have."""

    def __init__(
        self, config: pytest.Config, send: Callable[[RanTest], None], *, fail_on_incomparable: bool, hint: str = ""
    ) -> None:
        """Prepare the reports, without any test.

        Args:
            config: pytest's configuration.
            send: Sends the reports of a test to pytest.
            fail_on_incomparable: Whether an incomparable case fails its test.
            hint: What fresh interpreters lack, as a possible reason for a failure.
        """
        self._config = config
        self._send = send
        self._fail_on_incomparable = fail_on_incomparable
        self._hint = hint
        self._tests: dict[int, RanTest] = {}
        self._waiting: dict[int, int] = {}
        """Cases whose tests have not run, by the identity of their items, which `_tests` keeps alive."""
        self._limited: pytest.Session | None = None

    def add(self, index: int, item: pytest.Item) -> None:
        """Add a test."""
        self._tests[index] = RanTest(item=item, nodeid=item.nodeid)
        self._waiting[id(item)] = index

    def index_of(self, item: pytest.Item) -> int | None:
        """Return the index of the case of a test that has not run yet."""
        return self._waiting.pop(id(item), None)

    def take_first(self, index: int, reports: list[pytest.TestReport]) -> TestOutcome:
        """Keep the reports of start 1."""
        test = self._tests[index]
        test.reports = reports
        test.duration_s = sum(report.duration for report in reports)
        return outcome_of(reports)

    def write_first(self, state: CaseState) -> list[Mapping[str, Any]]:
        """Write the reports of a case's start 1 as plain data."""
        write, config = self._config.hook.pytest_report_to_serializable, self._config
        return [write(config=config, report=report) for report in self._tests[state.index].reports]

    def restore_first(self, state: CaseState, reports: Sequence[Mapping[str, Any]]) -> TestOutcome:
        """Take the reports of start 1 that an earlier session wrote."""
        return self.take_first(state.index, self._rebuilt(reports))

    def read_outcome(self, reports: Sequence[Mapping[str, Any]]) -> TestOutcome:
        """Read a test's outcome from the reports of a fresh interpreter."""
        return outcome_of(self._rebuilt(reports))

    def take_reports(self, state: CaseState, reports: Sequence[Mapping[str, Any]], words: str) -> TestOutcome:
        """Make the reports of a later start those of the case if its test did not pass there."""
        test, rebuilt = self._tests[state.index], self._rebuilt(reports)
        test.duration_s += sum(report.duration for report in rebuilt)
        if all(report.passed or is_strict_xpass(report) for report in rebuilt):
            return TestOutcome()
        words = f"{words}; {self._hint}" if self._hint else words
        for report in rebuilt:
            if not report.passed:
                report.sections.append(("devperf", words))
                if isinstance(report.longrepr, tuple):
                    path, line, reason = report.longrepr
                    report.longrepr = (path, line, f"{reason} ({words})")
        test.reports = rebuilt
        return outcome_of(rebuilt)

    def _rebuilt(self, plain: Sequence[Mapping[str, Any]]) -> list[pytest.TestReport]:
        """Recreate reports written by a fresh interpreter; JSON turned tuples into lists."""
        reports = []
        for data in plain:
            report = self._config.hook.pytest_report_from_serializable(config=self._config, data=dict(data))
            if isinstance(report.longrepr, list):
                report.longrepr = tuple(report.longrepr)
            report.location = tuple(report.location)
            report.sections = [tuple(section) for section in report.sections]
            report.user_properties = [tuple(pair) for pair in report.user_properties]
            reports.append(report)
        return reports

    def add_app_case(self, host: CaseState, state: CaseState, report: CaseReport) -> TestOutcome:
        """Add a test for a case that an app reported, with reports as pytest would have made for a test."""
        tested = self._tests[host.index]
        nodeid = f"{tested.item.nodeid}[{report.case}]"
        test = RanTest(item=tested.item, nodeid=nodeid, reports=app_reports(tested, nodeid, report))
        self._tests[state.index] = test
        tested.item.session.testscollected += 1
        return outcome_of(test.reports)

    def conclude(self, state: CaseState) -> None:
        """Turn a verdict into the outcome of its test, and report it."""
        test = self._tests[state.index]
        record = state.record
        assert record is not None
        verdict = record.comparison.verdict if record.comparison is not None else None
        if state.problem is not None:
            # pytest writes the id before the text.
            prefix = f"{state.case.id}: "
            test.fail(state.problem.what.removeprefix(prefix), str(state.problem).removeprefix(prefix))
        elif state.passed and verdict == "regressed":
            text = failure_text(record)
            test.fail(text.partition("\n")[0], text, brief=brief_failure_text(record), regressed=True)
        elif state.passed and verdict == "incomparable" and self._fail_on_incomparable:
            assert record.comparison is not None
            message = f"incomparable: {record.comparison.reason or 'see the cautions'}"
            test.fail(message, message)
        report = test.call_report
        report.duration = test.duration_s
        report.devperf = msgspec.to_builtins(record, enc_hook=plain_rows)  # type: ignore[attr-defined] # reports accept any attribute
        test.add_properties(properties_of(record))
        self._config.hook.pytest_devperf_recorded(config=self._config, record=record)
        self._log(test)

    def conclude_host(self, state: CaseState) -> None:
        """Report a test that launched an app: the app's cases are reported separately."""
        self._log(self._tests[state.index])

    def _log(self, test: RanTest) -> None:
        item = test.item
        item.ihook.pytest_runtest_logstart(nodeid=test.nodeid, location=item.location)
        self._send(test)
        item.ihook.pytest_runtest_logfinish(nodeid=test.nodeid, location=item.location)
        if self._limited is not None:
            if self._limited.shouldfail:
                raise self._limited.Failed(self._limited.shouldfail)
            if self._limited.shouldstop:
                raise self._limited.Interrupted(self._limited.shouldstop)

    def apply_maxfail(self, session: pytest.Session) -> None:
        """Apply `-x` and `--maxfail` from now on: pytest's own loop only does so in start 1."""
        self._limited = session

    @property
    def failed(self) -> set[int]:
        """Indices of the cases whose tests pytest itself shows as failures."""
        return {index for index, test in self._tests.items() if any(report.failed for report in test.reports)}


def app_reports(tested: RanTest, nodeid: str, report: CaseReport) -> list[pytest.TestReport]:
    """Create reports for an app's case as pytest would have made for a test."""
    path, line, domain = tested.item.location
    location = (path, line, f"{domain}[{report.case}]")
    reports = [
        pytest.TestReport(
            nodeid=nodeid,
            location=location,
            keywords=tested.reports[0].keywords,
            outcome="passed",
            longrepr=None,
            when=when,
        )
        for when in ("setup", "call", "teardown")
    ]
    reason = report.reason or ""
    if report.outcome == "failed":
        reports[1].outcome = "failed"
        reports[1].longrepr = Sentence(reason, reason, location)
    elif report.outcome == "skipped":
        reports[1].outcome = "skipped"
        reports[1].longrepr = (str(tested.item.path), (line or 0) + 1, f"{_SKIPPED}{reason}")
    return reports


def status_of(report: pytest.TestReport) -> tuple[str, str, tuple[str, Mapping[str, bool]]] | None:
    """Show a regression with its own status word; it counts as a failure."""
    if getattr(report, REGRESSED, False) and report.failed:
        return "failed", "F", ("REGRESSED", {"red": True})
    return None

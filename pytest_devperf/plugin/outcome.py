"""Reports of pytest: carried between interpreters, and turned into what a verdict says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from pytest_devperf.report.paint import Paint, Tone, no_paint
from pytest_devperf.report.table import wrapped

if TYPE_CHECKING:
    from pytest_devperf.plugin.ledger import Entry

Section = Callable[[int, Paint], str]
"""Writes a failure's section: characters of a line, and how it is coloured."""

STORED_WIDTH = 80
"""Characters of a line where no terminal is: in JUnit's file, and on the way from a worker of pytest-xdist."""

REGRESSED = "devperf_regressed"
"""Attribute of a report whose test failed by its verdict alone."""


STYLES: Mapping[Tone, Mapping[str, bool]] = {"bad": {"red": True}, "warn": {"yellow": True}, "good": {"green": True}}
"""pytest's own markup for each tone."""


def painter(tw: TerminalWriter) -> Paint:
    """Colour as pytest's terminal writer does, or not at all: `--color`, NO_COLOR and others decide there."""
    return lambda text, tone: tw.markup(text, **STYLES[tone])


class Sentence(TerminalRepr):
    """A failure that is a statement, not a traceback."""

    def __init__(self, message: str, section: Section, location: tuple[str, int | None, str]) -> None:
        path, line, _ = location
        self.reprcrash = ReprFileLocation(path, (line or 0) + 1, message)
        self._section = section

    def __str__(self) -> str:
        """The whole section."""
        return self._section(STORED_WIDTH, no_paint)

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the section as wide as the terminal; its first sentence in red.

        The sentence stays one line where it may be searched for, in a file or a pipe.
        """
        first, *rest = self._section(tw.fullwidth, painter(tw)).splitlines() or [""]
        for line in wrapped(first, tw.fullwidth) if tw._file.isatty() else [first]:  # noqa: SLF001 - nothing else knows
            tw.line(line, red=True, bold=True)
        for line in rest:
            tw.line(line)


def section_of(text: str) -> Section:
    """Make a section of a text that stays as it is."""
    return lambda _width, _paint: text


def rebuild(config: pytest.Config, plain: Iterable[Mapping[str, Any]]) -> list[pytest.TestReport]:
    """Make reports of what a fresh interpreter wrote; JSON made lists of tuples."""
    reports = []
    for data in plain:
        report = config.hook.pytest_report_from_serializable(config=config, data=dict(data))
        if isinstance(report.longrepr, list):
            report.longrepr = tuple(report.longrepr)
        report.location = tuple(report.location)
        report.sections = [tuple(section) for section in report.sections]
        report.user_properties = [tuple(pair) for pair in report.user_properties]
        reports.append(report)
    return reports


def call_report(entry: Entry) -> pytest.TestReport:
    """The report of the call, or the last one where there was no call."""
    own = [report for report in entry.reports if not is_subtest(report)]
    return next((report for report in own if report.when == "call"), own[-1])


def is_subtest(report: pytest.TestReport) -> bool:
    """Tell whether a report is one of a subtest, which has a context of its own."""
    return hasattr(report, "context")


def is_strict_xpass(report: pytest.TestReport) -> bool:
    """Tell whether a strict `xfail` test failed for passing."""
    return (
        report.when == "call"
        and report.failed
        and isinstance(report.longrepr, str)
        and report.longrepr.startswith("[XPASS(strict)]")
    )


def fail(entry: Entry, message: str, section: Section | str, *, regressed: bool = False) -> None:
    """Turn a case's kept reports into a failure that states what happened.

    Args:
        entry: The case.
        message: What the short summary and JUnit show.
        section: What the failure's section shows.
        regressed: Whether its verdict alone fails it.
    """
    report = call_report(entry)
    strict = is_strict_xpass(report)
    if isinstance(section, str):
        section = section_of(_beside(section, entry))
    report.longrepr = Sentence(_beside(message, entry), section, report.location)
    if regressed and (strict or hasattr(report, "wasxfail")):
        if not hasattr(report, "wasxfail"):
            mark = entry.item.get_closest_marker("xfail")
            report.wasxfail = str(mark.kwargs.get("reason", "")) if mark else ""
        report.outcome = "skipped"
        return
    report.outcome = "failed"
    if regressed:
        setattr(report, REGRESSED, True)


def _beside(text: str, entry: Entry) -> str:
    """Leave the case's id out: pytest writes it in front of the text."""
    return text.removeprefix(f"{entry.case.id}: ")


def replace_by(entry: Entry, reports: list[pytest.TestReport], process: int, *, note: str = "") -> None:
    """Let a later start's reports stand for the case, naming the start.

    Args:
        entry: The case.
        reports: The later start's.
        process: Its index.
        note: What may be the reason.
    """
    words = f"process start {process + 1} of {max(entry.processes, process + 1)}"
    words = f"{words}; {note}" if note else words
    for report in reports:
        if not report.passed:
            report.sections.append(("devperf", words))
            if isinstance(report.longrepr, tuple):
                path, line, reason = report.longrepr
                report.longrepr = (path, line, f"{reason} ({words})")
    entry.reports = reports


def log(entry: Entry, send: Callable[[Entry], None]) -> None:
    """Report a case the way pytest would have.

    Args:
        entry: The case; it counts as reported from now on.
        send: Hands its reports over.
    """
    item = entry.item
    item.ihook.pytest_runtest_logstart(nodeid=entry.nodeid, location=item.location)
    send(entry)
    item.ihook.pytest_runtest_logfinish(nodeid=entry.nodeid, location=item.location)
    entry.logged = True


def status_of(report: pytest.TestReport) -> tuple[str, str, tuple[str, Mapping[str, bool]]] | None:
    """Give a regression its own word; it counts as a failure."""
    if getattr(report, REGRESSED, False) and report.failed:
        return "failed", "F", ("REGRESSED", {"red": True})
    return None

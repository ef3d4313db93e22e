"""The interface between a session and its caller: test outcomes, a display, results of other plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pytest_devperf.session.cases.case_state import CaseState, TestOutcome

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.measure.cooldown import Cooling
    from pytest_devperf.measure.round import Round
    from pytest_devperf.targets.app.wire import CaseReport

PlainReport = Mapping[str, Any]
"""A test's report as plain data; only the edge knows its content."""


class Reporter(Protocol):
    """Knows the tests of the cases, and reports their results."""

    def write_first(self, state: CaseState) -> Sequence[PlainReport]:
        """Write the reports of a case's start 1 as plain data."""
        ...

    def restore_first(self, state: CaseState, reports: Sequence[PlainReport]) -> TestOutcome:
        """Take the reports of start 1 that an earlier session wrote."""
        ...

    def read_outcome(self, reports: Sequence[PlainReport]) -> TestOutcome:
        """Read a test's outcome from the reports of a fresh interpreter."""
        ...

    def take_reports(self, state: CaseState, reports: Sequence[PlainReport], words: str) -> TestOutcome:
        """Make the reports of a later start those of the case if its test did not pass there.

        Args:
            state: The case.
            reports: The reports of the fresh interpreter.
            words: Name of the process start.
        """
        ...

    def add_app_case(self, host: CaseState, state: CaseState, report: CaseReport) -> TestOutcome:
        """Add a test for a case that an app reported."""
        ...

    def conclude(self, state: CaseState) -> None:
        """Report a case that has its verdict."""
        ...

    def conclude_host(self, state: CaseState) -> None:
        """Report a test that launched an app and is not a case itself."""
        ...


class Display(Protocol):
    """Shows the progress of a session."""

    def stage(self, words: str, cases: int, *, first: int = 1) -> None:
        """Show which process start begins, and for how many cases; `first` is the number of the first one."""
        ...

    def measuring(self, case: Case) -> None:
        """Show which case is measured."""
        ...

    def idle(self) -> None:
        """Show that a case has been measured and the next one has not begun."""
        ...

    def round_done(self, taken: Round) -> None:
        """Show that a round is done."""
        ...

    def cooling(self, step: Cooling) -> None:
        """Show the progress of a wait."""
        ...

    def announce(self, sentence: str) -> None:
        """Print a line at once."""
        ...

    def clear(self) -> None:
        """Clear the display: nothing is measured."""
        ...

"""What a session requires from its caller: tests that become outcomes, a display, results of other plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pytest_devperf.session.case_state import CaseState, TestOutcome

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.measure.cooldown import Cooling
    from pytest_devperf.measure.round import Round
    from pytest_devperf.targets.app.wire import CaseReport

PlainReport = Mapping[str, Any]
"""A test's report as plain data; only the edge knows what is in it."""


class Reporter(Protocol):
    """Knows the tests behind the cases, and reports what became of them."""

    def read_outcome(self, reports: Sequence[PlainReport]) -> TestOutcome:
        """Read what became of a test from the reports of a fresh interpreter."""
        ...

    def take_reports(self, state: CaseState, reports: Sequence[PlainReport], process: int, starts: int) -> TestOutcome:
        """Use the reports of a later start for the case if its test did not pass there.

        Args:
            state: The case.
            reports: What the fresh interpreter reported.
            process: Index of the process start.
            starts: How many there are.
        """
        ...

    def add_app_case(self, host: CaseState, state: CaseState, report: CaseReport) -> TestOutcome:
        """Take up a case that an app reported."""
        ...

    def conclude(self, state: CaseState) -> None:
        """Report a case that has its verdict."""
        ...

    def conclude_host(self, state: CaseState) -> None:
        """Report a test that launched an app and is not a case itself."""
        ...


class Display(Protocol):
    """Shows what is going on."""

    def stage(self, words: str, cases: int, *, first: int = 1) -> None:
        """Show which process start begins, and of how many cases; `first` is the place of the first one."""
        ...

    def measuring(self, case: Case) -> None:
        """Show which case is measured."""
        ...

    def idle(self) -> None:
        """Show that a case was measured and the next one is not yet."""
        ...

    def round_done(self, taken: Round) -> None:
        """Show that a round is done."""
        ...

    def cooling(self, step: Cooling) -> None:
        """Show a wait as it goes."""
        ...

    def announce(self, sentence: str) -> None:
        """Write a line at once."""
        ...

    def clear(self) -> None:
        """Show nothing: nothing is measured."""
        ...

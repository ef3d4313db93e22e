"""Count instructions and measure no time (`--devperf-count=only`): a gate for machines on which time shows little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_devperf.compare.rule.counted import awaits_recount
from pytest_devperf.count.pace import LAYOUTS
from pytest_devperf.english import counted
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.session.cases.assemble import record_of
from pytest_devperf.session.cases.case_state import CaseState, Look
from pytest_devperf.session.modes.counts import count_request
from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.modes.saved_comparison import CompareHook, SavedComparison
from pytest_devperf.session.modes.saved_runs import RECOUNT
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.starts.start import Role

if TYPE_CHECKING:
    from pytest_devperf.record.record import Comparison, Record

COUNTS, AGAIN = range(2)
"""Phases."""


class CountedRuns:
    """Counts every case once, and suspects again."""

    hosts_apps = False

    def __init__(self, settings: Settings, compare_hook: CompareHook) -> None:
        self._settings = settings
        self._comparison = SavedComparison(settings, compare_hook)

    def first_role(self, state: CaseState) -> Role:  # noqa: ARG002 - every case begins alike
        """Return the purpose of start 1 of a case: to run its test once, so that a failure is known at once."""
        return "counted"

    def first_plan(self, state: CaseState, metric: str) -> StartPlan:
        """Plan no rounds."""
        raise AssertionError(f"{state.case.id}: rounds of {metric} in a session that measures no time")

    def starts(self, state: CaseState) -> int:  # noqa: ARG002 - every case has as many
        """Count start 1 alone."""
        return 1

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Ask for the start that counts, and for another one if a suspect is counted again."""
        if state.look is not None:
            return count_request(state, AGAIN, again=True)
        return None if state.out_of_time else count_request(state, COUNTS)

    def record(self, state: CaseState) -> Record:
        """Put the counts of a case together."""
        return record_of(state, state.starts, processes=1, busy_cpu_percent=self._settings.busy_cpu_percent)

    def compare(self, state: CaseState, record: Record) -> Comparison | None:
        """Compare a case with its baseline."""
        return self._comparison.of(state, record)

    def look_again(self, state: CaseState, comparison: Comparison) -> Look | None:
        """Count a suspect again."""
        if state.look is not None or self._settings.no_confirm or not awaits_recount(comparison):
            return None
        return RECOUNT

    def describe_plan(self, states: Sequence[CaseState]) -> str:  # noqa: ARG002 - all cases alike
        """Describe what is done with the cases."""
        return f"instructions counted in {counted(LAYOUTS, 'memory layout')} each, no time measured"

    def describe_first(self, state: CaseState) -> str:  # noqa: ARG002 - every case begins alike
        """Describe start 1 of a case."""
        return "running once"

"""Take what process starts found, judge the cases that need no other one, and explain what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.cases.edge import Reporter
from pytest_devperf.session.cases.found import StartFound
from pytest_devperf.session.explaining.explainer import Explainer
from pytest_devperf.session.judge import judge
from pytest_devperf.session.keep import keep
from pytest_devperf.session.modes.paired_cases import ByCase


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Reaches the verdicts of a session, and reports them."""

    mode: ByCase
    reporter: Reporter
    hint: str
    """What fresh interpreters lack, which may be the reason why a case fails in one."""
    explainer: Explainer | None = None
    """Explains changes; None: they are not explained."""

    def keep(self, found: StartFound) -> None:
        """Keep what a later start found; judge the case at once if it failed: the user may want to stop there."""
        keep(found, self.reporter, starts=self.mode.starts(found.state), hint=self.hint)
        if not found.state.passed:
            self.judge(found.state)

    def judge_ready(self, states: Sequence[CaseState]) -> None:
        """Judge the cases that failed, measured nothing, or need no other start."""
        for state in states:
            if state.pending and (not state.passed or not state.measured or self.mode.next_start(state) is None):
                self.judge(state)

    def judge_late(self, states: Sequence[CaseState]) -> Sequence[CaseState]:
        """Judge cases for whose next start there is no time; return those that need another look."""
        for state in states:
            state.out_of_time = True
            self.judge(state, final=state.look is not None)
        return states

    def judge(self, state: CaseState, *, final: bool = False) -> None:
        """Determine a verdict, and report it unless the case needs another look first or its change is explained."""
        if judge(state, self.mode, final=final):
            state.judged = True
            if self.explainer is None or not self.explainer.wants(state):
                self._report(state)

    def explain(self, states: Sequence[CaseState], left_s: float) -> None:
        """Explain the changes of cases, and report these, whatever becomes of the explanations.

        Args:
            states: Cases with a verdict.
            left_s: What is left of the session's budget.
        """
        try:
            if states and self.explainer is not None:
                self.explainer.explain(states, left_s)
        finally:
            for state in states:
                self._report(state)

    def _report(self, state: CaseState) -> None:
        state.concluded = True
        self.reporter.conclude(state)

"""Measure runs, save them, and compare them with saved ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_devperf.measure.round import StartPlan
from pytest_devperf.report.header import Planned, plan_words
from pytest_devperf.session.assemble import record_of
from pytest_devperf.session.case_state import CaseState, Look
from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.modes.starts import (
    SOLO,
    Ending,
    Part,
    counted,
    first_plan,
    has_something_to_do,
    later_plans,
    role_of,
    solo_request,
    solo_starts_of,
    starts_of,
)
from pytest_devperf.session.options.settings import Settings

if TYPE_CHECKING:
    from pytest_devperf.compare.history import Baseline
    from pytest_devperf.compare.policy import Policy
    from pytest_devperf.record.record import Comparison, Record

CONFIRMING_STARTS = 6
"""Starts over which a confirmation spreads its rounds: with three, a real +5 % is missed in nearly half of the
cases where process starts differ by 3 %, with six in a third."""

CONFIRM_REST_S = 10.0
"""Wait before a suspect is measured again on a host: boosts and bursts are over by then."""

ROUNDS, SOLOS, AGAIN, AGAIN_SOLOS = range(4)
"""Phases: every case has its first look before a suspect is measured again."""

CompareHook = Callable[["Record", "Baseline", "Policy"], "Comparison | None"]
"""Another plugin's verdict; None: it has none."""


class SavedRuns:
    """Measures every case once, and suspects again."""

    hosts_apps = True

    def __init__(self, settings: Settings, compare_hook: CompareHook) -> None:
        self._settings = settings
        self._compare_hook = compare_hook

    def first_plan(self, state: CaseState, metric: str) -> StartPlan:
        """Plan what start 1 does for a metric that it meets."""
        return first_plan(state, metric, self._ending(state))

    def starts(self, state: CaseState) -> int:
        """Count the process starts that take rounds."""
        return starts_of(state)

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Ask for the starts with rounds, then for those that take load and memory."""
        return self._next_of_first_look(state) if state.look is None else self._next_again(state, state.look)

    def _next_of_first_look(self, state: CaseState) -> StartRequest | None:
        starts = starts_of(state)
        place = counted(state.starts, solo=False)
        if place < starts:
            part = Part(process=place, place=place, starts=starts)
            start_plans = later_plans(state, part, self._ending(state), known=state.starts, first=state.starts)
            if has_something_to_do(state, start_plans):
                return StartRequest(
                    phase=ROUNDS,
                    place=place,
                    of=starts,
                    what="start",
                    process=place,
                    role="rounds",
                    start_plans=start_plans,
                )
        solos, solo = solo_starts_of(state, starts), counted(state.starts, solo=True)
        return solo_request(SOLOS, solo, solos, starts + solo) if solo < solos else None

    def _next_again(self, state: CaseState, look: Look) -> StartRequest | None:
        taken = [start for start in state.again if start.process >= look.first_process]
        place = counted(taken, solo=False)
        if place < look.starts:
            process = look.first_process + place
            part = Part(process=process, place=place, starts=look.starts)
            return StartRequest(
                phase=AGAIN,
                place=place,
                of=look.starts,
                what="confirming, start",
                process=process,
                role=role_of(starts_of(state)),
                start_plans=later_plans(state, part, Ending(bound=True), known=state.again, first=state.starts),
                rest_s=0.0 if state.case.plan.cooldown == "off" else CONFIRM_REST_S,
            )
        solos, solo = solo_starts_of(state, starts_of(state)), counted(taken, solo=True)
        process = look.first_process + look.starts + solo
        what = f"confirming, {SOLO}"
        return solo_request(AGAIN_SOLOS, solo, solos, process, what=what) if solo < solos else None

    def record(self, state: CaseState) -> Record:
        """Put a case's process starts together."""
        return record_of(
            state,
            state.starts,
            again=state.again,
            processes=starts_of(state),
            busy_cpu_percent=self._settings.busy_cpu_percent,
        )

    def compare(self, state: CaseState, record: Record) -> Comparison | None:
        """Compare a case with its baseline; another plugin's verdict beats ours."""
        if not self._settings.compare or not (state.measured or state.baseline):
            return None
        if state.baseline is not None:
            answer = self._compare_hook(record, state.baseline, state.policy)
            if answer is not None:
                return answer
        from pytest_devperf.compare.compare import compare

        return compare(record, state.baseline, state.policy)

    def look_again(self, state: CaseState, comparison: Comparison) -> Look | None:
        """Measure a suspect again, once."""
        if not comparison.awaiting or state.look is not None or self._settings.no_confirm or not state.passed:
            return None
        starts = starts_of(state)
        again = starts
        if starts > 1 and "processes" not in state.case.named:
            # As many as a saved run has, since what starts differ by decides there.
            again = min(max(CONFIRMING_STARTS, starts), state.case.plan.rounds)
        return Look(first_process=starts + solo_starts_of(state, starts), starts=again)

    def describe_plan(self, states: Sequence[CaseState]) -> str:
        """Describe how much of the cases is measured."""
        return plan_words([self._planned(state) for state in states])

    def _planned(self, state: CaseState) -> Planned:
        held = state.baseline.runs[0].record.metrics if state.baseline is not None else ()
        paces = [self.first_plan(state, each.name).iterations for each in held if each.kind == "rounds"]
        plan = state.case.plan
        return Planned(starts=starts_of(state), rounds=plan.rounds, iterations=max(paces, default=plan.iterations))

    def describe_first(self, state: CaseState) -> str:
        """Describe start 1 of a case."""
        starts = starts_of(state)
        return f"start 1 of {starts}" if starts > 1 else "measuring"

    def _ending(self, state: CaseState) -> Ending:
        """Say what may end a case early.

        A run that is saved has all its rounds, and so have the configurations of a sweep, or their floors could not be
        compared.
        """
        if self._settings.save is not None or state.case.sweep is not None:
            return Ending()
        compared = state.baseline is not None
        return Ending(bound=compared, converge=not compared)

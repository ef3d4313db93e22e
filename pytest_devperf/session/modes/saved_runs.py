"""Measure runs, save them, and compare them with saved ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_devperf.compare.looks import CONFIRMING_STARTS, SAVED_AT_A_TIME
from pytest_devperf.compare.rule.counted import awaits_recount
from pytest_devperf.compare.words import blind_words
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.record.caution import with_caution
from pytest_devperf.report.header import Planned, plan_words
from pytest_devperf.session.cases.assemble import record_of
from pytest_devperf.session.cases.case_state import CaseState, Look
from pytest_devperf.session.modes.counts import count_request
from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.modes.saved_comparison import CompareHook, SavedComparison
from pytest_devperf.session.modes.starts import (
    SOLO,
    Ending,
    Part,
    counted,
    first_plan,
    later_plans,
    measured_once,
    records_values,
    role_of,
    rounds_request,
    solo_request,
    solo_starts_of,
    starts_of,
)
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.starts.start import Role

if TYPE_CHECKING:
    from pytest_devperf.compare.stopping.decision import Judged, MoreStarts
    from pytest_devperf.record.record import Comparison, Record

CONFIRM_REST_S = 10.0
"""Wait before a suspect is measured again on a host: by then, boosts and bursts have ended."""

ROUNDS, SOLOS, COUNTS, AGAIN, AGAIN_SOLOS, AGAIN_COUNTS = range(6)
"""Phases: every case has its first look before a suspect is measured again."""

RECOUNT = Look(first_process=1, starts=0, rounds=0, recount=True)
"""A further look that only counts instructions again."""


class SavedRuns:
    """Measures every case once, and suspects again."""

    hosts_apps = True

    def __init__(self, settings: Settings, compare_hook: CompareHook) -> None:
        self._settings = settings
        self._comparison = SavedComparison(settings, compare_hook)

    def first_role(self, state: CaseState) -> Role:
        """Return the purpose of start 1 of a case."""
        return role_of(starts_of(state))

    def first_plan(self, state: CaseState, metric: str) -> StartPlan:
        """Plan start 1 for a metric that the test begins to measure."""
        return first_plan(state, metric, self._ending(state))

    def starts(self, state: CaseState) -> int:
        """Count the process starts with rounds: a saved run has more of them if they differ."""
        planned, taken = starts_of(state), counted(state.starts, solo=False)
        if state.out_of_time:
            return taken
        if self._settings.save is None or taken < planned or not self._may_have_more(state):
            return planned
        begun = (taken - planned) % SAVED_AT_A_TIME
        if begun:
            return taken + SAVED_AT_A_TIME - begun
        from pytest_devperf.compare.stopping.decision import MoreStarts, next_of_saving

        decision = next_of_saving(self._record(state, processes=taken), state.policy, state.case.plan)
        return taken + len(decision.rounds) if isinstance(decision, MoreStarts) else taken

    def _may_have_more(self, state: CaseState) -> bool:
        """Return whether a case may have more starts than planned: the user has not set their number."""
        return state.passed and state.app is None and starts_of(state) > 1 and "processes" not in state.case.named

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Request the starts with rounds, then those for load and memory, then the one that counts."""
        if state.look is not None:
            return self._next_again(state, state.look)
        return None if state.out_of_time else self._next_of_first_look(state)

    def _next_of_first_look(self, state: CaseState) -> StartRequest | None:
        starts = self.starts(state)
        place = counted(state.starts, solo=False)
        if place < starts and not self._is_explained(state, place):
            part = Part(process=place, place=place, starts=starts_of(state))
            ending = self._ending(state)
            request = rounds_request(state, part, ending, known=state.starts, phase=ROUNDS, of=starts, what="start")
            if request is not None:
                return request
        solos, solo = solo_starts_of(state, starts_of(state)), counted(state.starts, solo=True)
        return solo_request(SOLOS, solo, solos, starts + solo) if solo < solos else count_request(state, COUNTS)

    def _is_explained(self, state: CaseState, taken: int) -> bool:
        """Return whether the machine explains a suspect already, so that its first look ends."""
        from pytest_devperf.compare.stopping.decision import FIRST_TO_SETTLE, MoreStarts

        if taken < FIRST_TO_SETTLE or not self._ending(state).bound or records_values(state):
            return False
        decision = self._decide(state)
        return decision is not None and not (isinstance(decision, MoreStarts) and decision.role == "first")

    def _decide(self, state: CaseState) -> Judged | MoreStarts | None:
        """Decide what a case that is compared needs next; None if it is not compared."""
        if state.baseline is None or not self._settings.compare:
            return None
        from pytest_devperf.compare.stopping.decision import next_of_comparison

        record, once = self.record(state), measured_once(state)
        return next_of_comparison(record, state.baseline, state.policy, state.case.plan, measured_once=once)

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
        confirms = look.rounds is None  # more starts only serve times measured in rounds
        solos, solo = solo_starts_of(state, starts_of(state)) if confirms else 0, counted(taken, solo=True)
        process = look.first_process + look.starts + solo
        what = f"confirming, {SOLO}"
        if solo < solos:
            return solo_request(AGAIN_SOLOS, solo, solos, process, what=what)
        return count_request(state, AGAIN_COUNTS, again=True) if look.recount else None

    def record(self, state: CaseState) -> Record:
        """Combine a case's process starts, with a caution if no comparison with a saved run could detect a change."""
        taken = counted(state.starts, solo=False)
        record = self._record(state, processes=max(starts_of(state), taken))
        if self._settings.save is None or record.outcome != "passed":
            return record
        from pytest_devperf.compare.stopping.saving import blind_when_saved

        blind = blind_when_saved(record, state.policy)
        return with_caution(record, "blind", blind_words(blind)) if blind else record

    def _record(self, state: CaseState, *, processes: int) -> Record:
        return record_of(
            state,
            state.starts,
            again=state.again,
            processes=processes,
            busy_cpu_percent=self._settings.busy_cpu_percent,
        )

    def compare(self, state: CaseState, record: Record) -> Comparison | None:
        """Compare a case with its baseline."""
        return self._comparison.of(state, record)

    def look_again(self, state: CaseState, comparison: Comparison) -> Look | None:
        """Measure a suspect again, and then in more starts while these may prove or refute it."""
        if self._settings.no_confirm or not state.passed:
            return None
        if state.look is not None:
            return self._look_further(state, comparison)
        recount = awaits_recount(comparison)
        if comparison.awaiting:
            return replace(self._confirm(state), recount=recount)
        return RECOUNT if recount else None

    def _confirm(self, state: CaseState) -> Look:
        starts = starts_of(state)
        again = starts
        if starts > 1 and "processes" not in state.case.named:
            # As many as in a saved run, since the differences between starts decide there.
            again = min(max(CONFIRMING_STARTS, starts), state.case.plan.rounds)
        # Suspects share interpreters if their starts have the same numbers.
        planned = starts + solo_starts_of(state, starts)
        return Look(first_process=max(planned, _next_process(state)), starts=again)

    def _look_further(self, state: CaseState, comparison: Comparison) -> Look | None:
        if comparison.verdict != "suspect" or not self._may_have_more(state):
            return None
        from pytest_devperf.compare.stopping.decision import MoreStarts

        decision = self._decide(state)
        if not isinstance(decision, MoreStarts):
            return None
        return Look(first_process=_next_process(state), starts=len(decision.rounds), rounds=sum(decision.rounds))

    def describe_plan(self, states: Sequence[CaseState]) -> str:
        """Describe how much of the cases is measured."""
        words = plan_words([self._planned(state) for state in states])
        return f"{words}, instructions too" if any(state.counting is not None for state in states) else words

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
        """Return what may end a case early.

        A saved run has all its rounds. So do the configurations of a sweep: otherwise their floors could not be
        compared.
        """
        if self._settings.save is not None or state.case.sweep is not None:
            return Ending()
        compared = state.baseline is not None
        return Ending(bound=compared, converge=not compared)


def _next_process(state: CaseState) -> int:
    """Return the index of the next process start: indices are never reused."""
    return 1 + max(start.process for start in (*state.starts, *state.again))

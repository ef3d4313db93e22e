"""Unchanged code measured repeatedly (`--devperf-aa`), to determine the noise that a gate has to tolerate.

Every repetition is a run like one in a comparison. Only the very first process start runs in the session's own process;
all others are fresh interpreters. Nothing is compared with a saved run, and nothing is a regression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_devperf.measure.round import StartPlan
from pytest_devperf.report.header import Planned, plan_words
from pytest_devperf.session.cases.assemble import record_of
from pytest_devperf.session.cases.case_state import CaseState, Look
from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.modes.starts import (
    SOLO,
    Ending,
    Part,
    counted,
    first_plan,
    role_of,
    rounds_request,
    solo_request,
    solo_starts_of,
    starts_of,
)
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.starts.start import Role

if TYPE_CHECKING:
    from pytest_devperf.compare.noise import Noise
    from pytest_devperf.record.record import Comparison, Record
    from pytest_devperf.session.starts.start import CaseStart

NOTHING = Ending()
"""Nothing ends a repetition early, as in a run whose code became slower."""


class Repetitions:
    """Measures every case several times."""

    hosts_apps = False

    def __init__(self, settings: Settings, count: int) -> None:
        self._settings = settings
        self._count = count

    def first_role(self, state: CaseState) -> Role:
        """Return the purpose of start 1 of a case."""
        return role_of(starts_of(state))

    def first_plan(self, state: CaseState, metric: str) -> StartPlan:
        """Plan start 1 for a metric that the test begins to measure."""
        return first_plan(state, metric, NOTHING)

    def starts(self, state: CaseState) -> int:
        """Count the process starts with rounds in one repetition."""
        return starts_of(state)

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Request the starts of the first incomplete repetition."""
        requests = (self._next_of(state, number) for number in range(self._count))
        return next((request for request in requests if request is not None), None)

    def _next_of(self, state: CaseState, number: int) -> StartRequest | None:
        taken = self._taken(state, number)
        starts = starts_of(state)
        solos = solo_starts_of(state, starts)
        first = number * (starts + solos)
        repetition = f"repetition {number + 1} of {self._count}"
        place = counted(taken, solo=False)
        if place < starts:
            part = Part(process=first + place, place=place, starts=starts)
            request = rounds_request(
                state, part, NOTHING, known=taken, phase=2 * number, of=starts, what=f"{repetition}, start"
            )
            if request is not None:
                return request
        solo = counted(taken, solo=True)
        if solo >= solos:
            return None
        return solo_request(2 * number + 1, solo, solos, first + starts + solo, what=f"{repetition}, {SOLO}")

    def _taken(self, state: CaseState, number: int) -> Sequence[CaseStart]:
        """Select the starts of one repetition: indices are never reused."""
        starts = starts_of(state)
        each = starts + solo_starts_of(state, starts)
        return [start for start in state.starts if start.process // each == number]

    def record(self, state: CaseState) -> Record:
        """Combine the starts of the first repetition."""
        return self._record(state, 0)

    def _record(self, state: CaseState, number: int) -> Record:
        return record_of(
            state,
            self._taken(state, number),
            processes=starts_of(state),
            busy_cpu_percent=self._settings.busy_cpu_percent,
        )

    def compare(self, state: CaseState, record: Record) -> Comparison | None:  # noqa: ARG002 - of no case
        """Compare with nothing."""
        return None

    def look_again(self, state: CaseState, comparison: Comparison) -> Look | None:  # noqa: ARG002 - none looks again
        """Accept the verdict."""
        return None

    def describe_plan(self, states: Sequence[CaseState]) -> str:
        """Describe how much of the cases is measured."""
        planned = [
            Planned(starts=starts_of(state), rounds=state.case.plan.rounds, iterations=state.case.plan.iterations)
            for state in states
        ]
        return f"{self._count} repetitions, each {plan_words(planned)}"

    def describe_first(self, state: CaseState) -> str:
        """Describe start 1 of a case."""
        starts = starts_of(state)
        return f"repetition 1 of {self._count}, {f'start 1 of {starts}' if starts > 1 else 'measuring'}"

    def noises(self, states: Iterable[CaseState]) -> Mapping[str, tuple[Noise, ...]]:
        """Summarise the values of every case that passed in all repetitions."""
        from pytest_devperf.compare.noise import noise

        return {
            state.case.id: noise([self._record(state, number) for number in range(self._count)], state.policy)
            for state in states
            if state.measured and not state.is_paired and state.record is not None and state.record.outcome == "passed"
        }

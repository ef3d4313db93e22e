"""Old and new code in turns on one machine (`--devperf-against`): a comparison that needs no saved run.

The old code is in another environment with its own interpreter. Start 1 runs the new code in this process, to learn
which metrics there are and how many iterations they need. The verdict uses pairs of fresh interpreters that alternate
round by round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_devperf.compare.in_turns.case import InTurnsSoFar
from pytest_devperf.compare.in_turns.metric import USUAL_PAIRS
from pytest_devperf.compare.in_turns.pairs import READY, READY_PART, ROUNDS
from pytest_devperf.compare.stopping.decision import next_in_turns
from pytest_devperf.measure.round import StartPlan, StartResult
from pytest_devperf.metric import NS_PER_S
from pytest_devperf.report.header import Planned, plan_words
from pytest_devperf.session.cases.assemble import record_of
from pytest_devperf.session.cases.case_state import CaseState, Look
from pytest_devperf.session.cases.old_side import compare_sides, with_old_side
from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.modes.pairs import PairsSoFar, kept, most_pairs, plans_of_pair
from pytest_devperf.session.modes.starts import SOLO_STARTS, counted, role_of, solo_request
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.revision.old_environment import OldEnvironment
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.start import Role, results_of

if TYPE_CHECKING:
    from pytest_devperf.record.record import Comparison, Record

ROUNDS_OF_PAIR = 2 * (ROUNDS + READY)
"""Rounds of both sides in a pair."""

PAIRED, SOLOS = range(2)
"""Phases."""


class InTurns:
    """Measures pairs of process starts, one of the old code and one of the new."""

    hosts_apps = False

    def __init__(self, settings: Settings, old: OldEnvironment) -> None:
        self._settings = settings
        self._old = old
        self._so_far = PairsSoFar()

    def first_role(self, state: CaseState) -> Role:
        """Return the purpose of start 1 of a case."""
        return role_of(self.starts(state))

    def first_plan(self, state: CaseState, metric: str) -> StartPlan:  # noqa: ARG002 - every metric is calibrated alike
        """Plan start 1: calibrate, and fit the pairs into the budget."""
        pairs = min(USUAL_PAIRS, most_pairs(state))
        return StartPlan(
            process=0,
            rounds=1,
            total_rounds=pairs * ROUNDS_OF_PAIR,
            processes=2 * pairs,
            iterations=state.case.plan.iterations,
        )

    def starts(self, state: CaseState) -> int:
        """Return the largest number of pairs that the budget allows, estimated from start 1."""
        if state.out_of_time:
            return max(1, state.old.pairs)
        pair_s = sum(_pair_s(each[0]) for each in results_of(state.starts[:1]).values()) if _runs_here(state) else 0.0
        return most_pairs(state, pair_s)

    def _look(self, state: CaseState) -> InTurnsSoFar | None:
        """Judge the pairs so far; None: there are none yet."""
        if not state.old.pairs:
            return None
        return self._so_far.judge(state, state.starts[1:], state.old.starts, most=self.starts(state))

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Request the pairs, then starts of both sides that measure load and memory."""
        if not _runs_here(state) or state.old.missing is not None or state.out_of_time:
            return None
        pairs, pair = self.starts(state), state.old.pairs
        more = next_in_turns(self._look(state)) if pair < pairs else None
        if more is not None:
            return StartRequest(
                phase=PAIRED,
                place=pair,
                of=pairs,
                what="pair",
                process=pair + 1,
                role="rounds",
                start_plans=plans_of_pair(
                    results_of(state.starts[:1]), process=pair + 1, rounds=more.rounds[0], pairs=pairs
                ),
                paired=True,
            )
        solos, solo = SOLO_STARTS if state.starts[0].solo else 0, counted(state.starts, solo=True)
        return replace(solo_request(SOLOS, solo, solos, pairs + 1 + solo), paired=True) if solo < solos else None

    def record(self, state: CaseState) -> Record:
        """Combine the starts of the new code, and add the old side's samples.

        Start 1 and the rounds in which a side prepared its code are omitted: they are not compared.
        """
        starts, olds = state.starts, state.old.starts
        if state.passed and state.old.pairs:
            starts, olds = kept(starts[1:]), kept(olds)
        pairs = state.old.pairs or self.starts(state)
        record = record_of(state, starts, processes=pairs, busy_cpu_percent=self._settings.busy_cpu_percent)
        return with_old_side(record, olds)

    def compare(self, state: CaseState, record: Record) -> Comparison | None:
        """Compare both sides."""
        if not state.measured:
            return None
        reason = state.old.missing
        if state.target is not None and not is_this_machine(state.target):
            there = f"{state.target.device.name} cannot run Python from another environment: use devperf.paired there"
            reason = state.starts[0].old_missing or there
        note = f"old code in turns: {self._old.found.words}"
        most = self.starts(state)
        return compare_sides(record, kept(state.old.starts), state.policy, reason=reason, note=note, most=most)

    def look_again(self, state: CaseState, comparison: Comparison) -> Look | None:  # noqa: ARG002 - none looks again
        """Accept the verdict."""
        return None

    def describe_plan(self, states: Sequence[CaseState]) -> str:
        """Describe how much of the cases is measured."""
        planned = [
            Planned(starts=most_pairs(state), rounds=ROUNDS, iterations=state.case.plan.iterations) for state in states
        ]
        return plan_words(planned, on="on each side of at most {starts} of process starts", starts="pair")

    def describe_first(self, state: CaseState) -> str:  # noqa: ARG002 - every case begins alike
        """Describe start 1 of a case."""
        return "calibrating"


def _runs_here(state: CaseState) -> bool:
    """Return whether its Python runs on this machine."""
    return state.target is not None and is_this_machine(state.target)


def _pair_s(first: StartResult) -> float:
    """Estimate the duration of a pair of process starts for one metric from the round of start 1."""
    if not first.rounds:
        return 0.0
    taken = first.rounds[0]
    round_ns = taken.wall_ns or sum(taken.samples_ns) * first.inner_loops
    return 2 * (ROUNDS + 1 / READY_PART) * round_ns / NS_PER_S

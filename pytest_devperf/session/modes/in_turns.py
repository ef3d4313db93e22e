"""Old and new code in turns on one machine (`--devperf-against`): a comparison that needs no saved run.

The old code lives in another environment with an interpreter of its own. Start 1 runs the new code here, as
ever, to learn what there is to measure and how often it has to be called; what is compared comes from pairs
of fresh interpreters that alternate round by round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_devperf.compare.paired import PAIRS, ROUNDS_EACH
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.report.header import Planned, plan_words
from pytest_devperf.session.assemble import record_of
from pytest_devperf.session.case_state import CaseState, Look
from pytest_devperf.session.launch.old_code import OldEnvironment
from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.modes.starts import SOLO_STARTS, counted, solo_request
from pytest_devperf.session.old_side import compare_sides, with_old_side
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.start import results_of

if TYPE_CHECKING:
    from pytest_devperf.record.record import Comparison, Record
    from pytest_devperf.session.starts.start import CaseStart

READY = 1
"""Rounds of each side in a pair that are not kept: both get ready before the turns begin."""

PAIRED, SOLOS = range(2)
"""Phases."""


class InTurns:
    """Measures pairs of process starts, one of the old code and one of the new."""

    hosts_apps = False

    def __init__(self, settings: Settings, old: OldEnvironment) -> None:
        self._settings = settings
        self._old = old

    def first_plan(self, state: CaseState, metric: str) -> StartPlan:  # noqa: ARG002 - every metric is calibrated alike
        """Plan what start 1 does: calibrate, and fit the pairs into the budget."""
        pairs = self._planned_pairs(state)
        return StartPlan(
            process=0,
            rounds=1,
            total_rounds=pairs * 2 * (ROUNDS_EACH + READY),
            processes=2 * pairs,
            iterations=state.case.plan.iterations,
        )

    def starts(self, state: CaseState) -> int:
        """Count the pairs of process starts: as many as the budget has room for, by what start 1 took."""
        pairs = self._planned_pairs(state)
        if not _runs_here(state):
            return pairs
        fitted = min((each[0].total_rounds for each in results_of(state.starts[:1]).values()), default=0)
        return min(pairs, max(1, fitted // (2 * (ROUNDS_EACH + READY)))) if fitted else pairs

    def _planned_pairs(self, state: CaseState) -> int:
        return state.case.plan.processes if "processes" in state.case.named else PAIRS

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Ask for the pairs, then for starts of both sides that take load and memory."""
        if not _runs_here(state) or state.old.missing is not None:
            return None
        pairs, pair = self.starts(state), state.old.pairs
        if pair < pairs:
            return StartRequest(
                phase=PAIRED,
                place=pair,
                of=pairs,
                what="pair",
                process=pair + 1,
                role="rounds",
                start_plans=self._plans(state, pair + 1, pairs),
                paired=True,
            )
        solos, solo = SOLO_STARTS if state.starts[0].solo else 0, counted(state.starts, solo=True)
        return replace(solo_request(SOLOS, solo, solos, pairs + 1 + solo), paired=True) if solo < solos else None

    def _plans(self, state: CaseState, process: int, pairs: int) -> dict[str, StartPlan]:
        """Plan what each side of a pair does."""
        first = results_of(state.starts[:1])
        return {
            metric: StartPlan(
                process=process,
                rounds=ROUNDS_EACH + READY,
                total_rounds=start_results[0].total_rounds,
                processes=pairs,
                iterations=start_results[0].iterations,
                inner_loops=start_results[0].inner_loops,
                fixed=True,
            )
            for metric, start_results in first.items()
            if start_results[0].stop != "too-slow"
        }

    def record(self, state: CaseState) -> Record:
        """Put the starts of the new code together, and lay the old beside them.

        Start 1 is left out, and the rounds in which a side got ready: they are not compared.
        """
        pairs = self.starts(state)
        starts, olds = state.starts, state.old.starts
        if state.passed and state.old.pairs:
            starts = [_kept(start, pairs) for start in starts[1:]]
            olds = [_kept(start, pairs) for start in olds]
        record = record_of(state, starts, processes=pairs, busy_cpu_percent=self._settings.busy_cpu_percent)
        return with_old_side(record, olds)

    def compare(self, state: CaseState, record: Record) -> Comparison | None:
        """Compare both sides."""
        if not state.measured:
            return None
        reason = state.old.missing
        if state.target is not None and not is_this_machine(state.target):
            reason = f"{state.target.device.name} cannot run Python from another environment: use devperf.paired there"
        pairs = self.starts(state)
        olds = [_kept(start, pairs) for start in state.old.starts]
        note = f"old code in turns: {self._old.found.words}"
        return compare_sides(record, olds, state.policy, reason=reason, note=note)

    def look_again(self, state: CaseState, comparison: Comparison) -> Look | None:  # noqa: ARG002 - none looks again
        """Let the verdict stand."""
        return None

    def describe_plan(self, states: Sequence[CaseState]) -> str:
        """Describe how much of the cases is measured."""
        planned = [
            Planned(starts=self._planned_pairs(state), rounds=ROUNDS_EACH, iterations=state.case.plan.iterations)
            for state in states
        ]
        return plan_words(planned, on="on each side of {starts} of process starts", starts="pair")

    def describe_first(self, state: CaseState) -> str:  # noqa: ARG002 - every case begins alike
        """Describe start 1 of a case."""
        return "calibrating"


def _runs_here(state: CaseState) -> bool:
    """Return whether its Python runs on this machine, and it takes no turns by itself (`devperf.paired`)."""
    return not state.is_paired and state.target is not None and is_this_machine(state.target)


def _kept(start: CaseStart, pairs: int) -> CaseStart:
    timed = [
        replace(
            each,
            start_result=replace(
                each.start_result,
                rounds=each.start_result.rounds[READY:],
                total_rounds=pairs * ROUNDS_EACH,
                stop="done",
            ),
        )
        for each in start.timed
    ]
    return replace(start, timed=timed)

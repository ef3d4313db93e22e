"""Pairs of process starts, whoever runs them: what a start of a pair does, and what its case has come to so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_devperf.compare.in_turns.case import InTurnsSoFar, judge_in_turns
from pytest_devperf.compare.in_turns.metric import looks_of
from pytest_devperf.compare.in_turns.pairs import READY, ready_iterations
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.cases.measurements import measurements_of

if TYPE_CHECKING:
    from pytest_devperf.measure.round import StartResult
    from pytest_devperf.session.starts.start import CaseStart


class PairsSoFar:
    """Judges the pairs of each case, once for each number of them and of those that may follow."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[tuple[int, int], InTurnsSoFar]] = {}

    def judge(
        self, state: CaseState, new: Sequence[CaseStart], old: Sequence[CaseStart], *, most: int
    ) -> InTurnsSoFar | None:
        """Judge a case by its pairs; None if it has none.

        Args:
            state: The case.
            new: The starts of the new code, one per pair.
            old: The starts of the old code.
            most: Maximum number of pairs.
        """
        if not new or not old:
            return None
        key = (len(old), most)
        known, so_far = self._known.get(state.index, (None, None))
        if so_far is None or known != key:
            so_far = judge_in_turns(measurements_of(kept(new)), measurements_of(kept(old)), state.policy, most=most)
            self._known[state.index] = key, so_far
        return so_far


def most_pairs(state: CaseState, pair_s: float = 0.0) -> int:
    """Return the maximum number of pairs of a case: as given by the user, else by the rule and the budget.

    Args:
        state: The case.
        pair_s: How long a pair takes; 0: not known.
    """
    most = state.case.plan.processes if "processes" in state.case.named else max(looks_of(state.policy.metrics))
    return min(most, max(1, int(state.case.plan.max_time // pair_s))) if pair_s > 0 else most


def plans_of_pair(
    first: Mapping[str, Sequence[StartResult]], *, process: int, rounds: int, pairs: int
) -> dict[str, StartPlan]:
    """Plan what each side of a pair does.

    Args:
        first: What start 1 measured, by metric.
        process: Index of the process start.
        rounds: Rounds of each code.
        pairs: Maximum number of pairs.
    """
    return {
        metric: StartPlan(
            process=process,
            rounds=rounds + READY,
            total_rounds=start_results[0].total_rounds,
            processes=pairs,
            iterations=start_results[0].iterations,
            inner_loops=start_results[0].inner_loops,
            fixed=True,
            ready=ready_iterations(start_results[0].iterations),
        )
        for metric, start_results in first.items()
        if start_results[0].stop != "too-slow"
    }


def kept(starts: Sequence[CaseStart]) -> list[CaseStart]:
    """Leave out the rounds in which a side got ready. What is left was planned: more was never promised."""
    totals: Counter[str] = Counter()
    for start in starts:
        totals.update({each.metric.name: len(each.start_result.rounds[READY:]) for each in start.timed})
    return [_kept_start(start, totals) for start in starts]


def _kept_start(start: CaseStart, totals: Mapping[str, int]) -> CaseStart:
    timed = [
        replace(
            each,
            start_result=replace(
                each.start_result,
                rounds=each.start_result.rounds[READY:],
                total_rounds=totals[each.metric.name],
                stop="done",
            ),
        )
        for each in start.timed
    ]
    return replace(start, timed=timed)

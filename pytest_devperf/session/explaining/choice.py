"""Choose what is explained, how often it is run for that, and how many cases fit into the time."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_devperf.explain.cause import ExplainMode
from pytest_devperf.metric import NS_PER_S
from pytest_devperf.record.record import Change, Verdict
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.start import results_of

BUDGET_S = 60.0
"""Longest time for the explanations of a session, and as long again for the profiles that it saves. A case takes about
a second in each of four process starts, so the dozen largest changes fit: a session with more of them has one cause
that is in these."""

FIRST_CASES = 4
"""Cases that are profiled together before it is known how long one takes."""

PLAIN_PASS_S = 0.04
"""Time of a pass without the profiler, under which a call takes five to eight times as long."""

MOST_ITERATIONS = 1000
"""More iterations would not make a short call's profile more exact."""

FEWEST_ITERATIONS = 3
"""With one iteration, what the first of a pass costs (caches, imports) would be counted as every one's."""

WORTH_EXPLAINING: dict[ExplainMode, frozenset[Verdict]] = {
    "auto": frozenset({"regressed", "improved"}),
    "off": frozenset(),
    "all": frozenset({"regressed", "improved", "suspect"}),
}
"""Verdicts of cases that are explained."""


def can_be_profiled(state: CaseState) -> bool:
    """Return whether further process starts may show where the time of a case goes."""
    return (
        state.passed
        and state.app is None
        and not state.is_paired
        and state.target is not None
        and any(start.explainable for start in state.starts)
        # With one process start, everything runs in this process, as a debugger needs it.
        and (state.case.plan.processes > 1 or not is_this_machine(state.target))
    )


def change_to_explain(state: CaseState, mode: ExplainMode) -> Change | None:
    """Choose the change of a case that is explained: its largest in time; None if there is none to explain."""
    comparison = state.comparison
    if comparison is None or comparison.verdict not in WORTH_EXPLAINING[mode] or not can_be_profiled(state):
        return None
    timed = results_of(state.starts)
    found = [
        change
        for change in comparison.changes
        if change.verdict == comparison.verdict and change.metric in timed and change.delta and change.unit == "ms"
    ]
    return max(found, key=lambda change: abs(change.delta_pct or 0.0), default=None)


def most_urgent_first(states: Sequence[CaseState], mode: ExplainMode) -> list[CaseState]:
    """Sort cases by how much they changed, those that became slower first."""

    def urgency(state: CaseState) -> tuple[bool, float]:
        change = change_to_explain(state, mode)
        percent = change.delta_pct or 0.0 if change is not None else 0.0
        return percent > 0, abs(percent)

    return sorted(states, key=urgency, reverse=True)


def iterations_for(iteration_ns: float) -> int:
    """Choose the iterations of a pass.

    >>> iterations_for(1e6), iterations_for(1e3), iterations_for(5e9)
    (40, 1000, 3)
    """
    return max(FEWEST_ITERATIONS, min(MOST_ITERATIONS, round(PLAIN_PASS_S * NS_PER_S / max(iteration_ns, 1.0))))


def fitting(left: int, done: int, spent_s: float, budget_s: float = BUDGET_S) -> int:
    """Return how many of the cases that are left are profiled together next; 0 if there is no time for one.

    >>> fitting(20, 0, 0.0), fitting(16, 4, 20.0), fitting(8, 12, 60.0), fitting(20, 0, 0.0, budget_s=-1.0)
    (4, 8, 0, 0)
    """
    if spent_s >= budget_s:
        return 0
    if not done:
        return min(left, FIRST_CASES)
    pace_s = spent_s / done
    return min(left, int((budget_s - spent_s) // pace_s) if pace_s > 0 else left)

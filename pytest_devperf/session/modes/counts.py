"""Ask for the process starts that count instructions: one interpreter under valgrind for all cases."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_devperf.count.pace import Pace
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.starts.start import Counts


def count_request(state: CaseState, phase: int, *, again: bool = False) -> StartRequest | None:
    """Ask for a start that counts a case's instructions; None if it needs none.

    Args:
        state: The case.
        phase: Phase of the request.
        again: Whether the start is a second one, in other memory layouts.
    """
    place = int(again)
    if not state.wants_counts or len(state.counts) > place:
        return None
    return StartRequest(
        phase=phase,
        place=0,
        of=1,
        what="counting instructions again, start" if again else "counting instructions, start",
        process=place + 1,  # such starts have numbers of their own, so that all cases share one
        role="counted",
        start_plans={},
        paces=_paces(state),
    )


def _paces(state: CaseState) -> Mapping[str, Pace]:
    """Return how the metrics of a case were counted before: in this session, or in its baseline."""
    if state.counts:
        return {each.metric.name: _pace_of(each) for each in state.counts[0].counts}
    if state.baseline is None:
        return {}
    return {
        each.name: Pace(loops=each.inner_loops or 1, repetitions=len(each.samples[0]))
        for each in state.baseline.runs[0].record.metrics
        if each.kind == "counted" and each.samples
    }


def _pace_of(counts: Counts) -> Pace:
    return Pace(loops=counts.loops, repetitions=len(counts.layouts[0]))

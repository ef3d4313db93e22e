"""Build the record of a case from its starts, and its verdict."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from pytest_devperf.errors import DevperfError
from pytest_devperf.record.record import Comparison, Record
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.modes.paired_cases import ByCase


def judge(state: CaseState, mode: ByCase, *, final: bool = False) -> bool:
    """Determine the verdict of a case; the results of its starts are not changed.

    Args:
        state: The case.
        mode: Compares it.
        final: Whether there is no time for another look.

    Returns:
        False if another look is needed first; it is then in the state of the case.
    """
    record = _record(state, mode)
    comparison = mode.compare(state, record)
    look = None if final or comparison is None else mode.look_again(state, comparison)
    if look is not None:
        state.look = look
        return False
    if comparison is not None:
        comparison = msgspec.structs.replace(comparison, awaiting=False)
        record = _with_comparison(record, comparison)
    state.record, state.comparison = record, comparison
    return True


def _record(state: CaseState, mode: ByCase) -> Record:
    """Combine a case's starts; a case whose starts contradict each other fails."""
    try:
        record = mode.record(state)
    except DevperfError as error:
        state.fail(error.what, error.next_step)
        return mode.record(state)
    return record


def _with_comparison(record: Record, comparison: Comparison) -> Record:
    """Add a final comparison to a record, its cautions and comparability included."""
    notes = {**record.caution_notes, **comparison.cautions}
    comparable = comparison.verdict not in {"incomparable", "new"}
    return msgspec.structs.replace(
        record,
        comparison=comparison,
        cautions=tuple(notes),
        caution_notes=notes,
        run_context=replace(record.run_context, comparable_to_baseline=comparable),
    )

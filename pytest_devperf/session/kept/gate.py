"""Fail a session for other reasons than its tests: nothing was compared, or results were not saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_devperf.session.cases.case_state import CaseStates
from pytest_devperf.session.kept.baselines import Baselines, Missing
from pytest_devperf.session.kept.results import Results
from pytest_devperf.session.options.scope import Collected
from pytest_devperf.session.options.settings import Settings

if TYPE_CHECKING:
    from pytest_devperf.case.plan import Suite


def is_gate(settings: Settings) -> bool:
    """Return whether a session's success implies that something was compared or saved."""
    return any(each is not None for each in (settings.compare, settings.against, settings.save))


def missing_cases(
    baselines: Baselines, collected: Collected, states: CaseStates, settings: Settings, suite: Suite
) -> tuple[Sequence[Missing], int]:
    """Find the cases of the baselines that were not measured.

    Returns:
        The cases that are missing for the gate, and the number of others that the command did not select.
    """
    selected = {state.case.id for state in states}
    missing = baselines.missing_in(collected, selected, suite, always=settings.fail_on_missing is True)
    accounted = selected.union(*(each.cases for each in missing))
    return missing, len(baselines.cases(suite) - accounted)


def broken_gates(states: CaseStates, settings: Settings, collected: Collected, results: Results) -> int:
    """Count the gates that were not met, once the results are saved."""
    strict = not collected.narrowed if settings.fail_on_missing is None else settings.fail_on_missing
    return sum(
        (
            strict and bool(results.missing),
            is_gate(settings) and bool(states.unfinished),
            results.failed or results.report(states).nothing_compared,
            _nothing_ran(states, settings),
        )
    )


def _nothing_ran(states: CaseStates, settings: Settings) -> bool:
    """Return whether the user named a target on which no case ran, all being skipped."""
    return settings.target != "auto" and bool(states) and all(state.skip_reason is not None for state in states)

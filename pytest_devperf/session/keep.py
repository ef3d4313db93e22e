"""Add the result of a process start to the state of its case."""

from __future__ import annotations

from pytest_devperf.errors import DevperfError
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.cases.edge import Reporter
from pytest_devperf.session.cases.found import OldFound, StartFound
from pytest_devperf.session.launch.follow import WorkerResult, last_words

IN_THIS_PROCESS = "use --devperf-processes=1 to measure in this process"

_REMEDIES = {"counted": "leave --devperf-count out if the test cannot run under valgrind"}
"""What helps against a process start that dies, by its role."""


def keep(found: StartFound, reporter: Reporter, *, starts: int, hint: str = "") -> None:
    """Add the result of a process start to the state of its case; the case may fail because of it.

    Args:
        found: The result.
        reporter: Reads the reports of the case's test.
        starts: Number of process starts of the case.
        hint: What fresh interpreters lack, as a possible reason for a failure.
    """
    state = found.state
    if found.old is not None:
        _keep_old(state, found.old, reporter)
    if found.pair is not None:
        state.old.pairs = found.pair + 1
    try:
        if found.problem is not None:
            raise found.problem
        if found.result is not None:
            _keep_new(found, found.result, reporter, starts, hint)
    except DevperfError as error:
        state.fail(error.what, error.next_step)


def _keep_new(found: StartFound, result: WorkerResult, reporter: Reporter, starts: int, hint: str) -> None:
    state, words = found.state, found.words()
    if result.absent:
        state.fail(
            f"{state.case.id}: {words} did not find this case: its id differs from run to run",
            hint or "make parametrised ids from values that stay the same (no sets, times or random numbers)",
        )
        return
    if result.start is None:
        died = "died in this case" if result.begun else "did not run"
        state.fail(
            f"{state.case.id}: {words} {died}",
            f"{hint or _REMEDIES.get(found.role, IN_THIS_PROCESS)}; "
            f"the last output of the interpreter:\n{last_words(result.died or '')}",
        )
        return
    outcome = reporter.take_reports(state, result.reports, found.words(starts))
    if not outcome.passed:
        state.outcome = outcome
        return
    result.start.prerun = found.prerun
    state.keep(result.start)


def _keep_old(state: CaseState, old: OldFound, reporter: Reporter) -> None:
    """Add the results of the old code; if there are none, record the reason."""
    result = old.result
    reason = _why_missing(result, reporter) if result.settled or old.crashed else None
    if reason is not None:
        state.old.missing = reason
    elif result.start is not None:
        state.keep_old(result.start)


def _why_missing(result: WorkerResult, reporter: Reporter) -> str | None:
    """Return why there are no results of the old side to compare with; None if there are."""
    if result.absent:
        return "the old environment does not collect this test"
    if result.start is None:
        lines = last_words(result.died or "").strip().splitlines()
        line = next((line for line in lines if line.startswith("E ")), lines[-1] if lines else "")
        did = "died in this case" if result.begun else "did not run this case"
        return f"the interpreter of the old code {did}: {line.removeprefix('E ').strip()}"
    outcome = reporter.read_outcome(result.reports)
    if outcome.passed:
        return None
    word = "is skipped" if outcome.outcome == "skipped" else "fails"
    return f"the test {word} with the old code: {outcome.reason}"

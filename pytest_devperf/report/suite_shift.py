"""Describe a change that most cases of a run share."""

from __future__ import annotations

from pytest_devperf.compare.suite_shift import SuiteShift, find_suite_shift
from pytest_devperf.report.report import Report

NAMED_CASES = 3
"""Cases that are named because they stand out; the others are counted."""


def shift_lines(report: Report) -> list[str]:
    """Return a sentence for each run of which most cases changed alike, and name the cases that stand out."""
    found = [(run, find_suite_shift(run.cases)) for run in report.runs]
    several = len(report.runs) > 1
    return [
        f"{f'{run.device.model or run.device.kind}: ' if several else ''}{_shift_sentence(shift)}"
        for run, shift in found
        if shift is not None
    ]


def _shift_sentence(shift: SuiteShift) -> str:
    way = "slower" if shift.percent > 0 else "faster"
    anchor = "" if shift.anchor_pct is None else f" (the anchor: {shift.anchor_pct:+.1f} %)"
    sentence = (
        f"{shift.sharing} of {shift.cases} cases are {way} by about the same, {shift.percent:+.1f} %{anchor}: "
        "something that all share changed, such as the interpreter, a library or the machine"
    )
    if not shift.apart:
        return sentence
    named = [f"{case_id} ({percent:+.1f} %)" for case_id, percent in shift.apart[:NAMED_CASES]]
    more = len(shift.apart) - len(named)
    listed = f"{', '.join(named)}{f' and {more} more' if more else ''}"
    return f"{sentence}; {listed} {'stands' if len(shift.apart) == 1 else 'stand'} out against it"

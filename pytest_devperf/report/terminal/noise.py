"""Render the noise of unchanged code, case by case, and the tolerance that it requires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_devperf.compare.noise import FEWEST, NEIGHBOURS, Noise, recommended
from pytest_devperf.compare.words import COARSE_PERCENT
from pytest_devperf.english import counted
from pytest_devperf.report.table import Column, Row, lay_out, wrapped
from pytest_devperf.report.units import format_percent, format_value
from pytest_devperf.untrusted import printable

COLUMNS = (
    Column(heading="case"),
    Column(heading="metric"),
    Column(heading="centre", number=True),
    Column(heading="starts", number=True, expendable=True),
    Column(heading="runs", number=True),
    Column(heading="range", number=True, expendable=True),
    Column(heading="suspects", number=True, expendable=True),
    Column(heading="false alarms", number=True),
    Column(heading="detectable", number=True),
    Column(heading="tolerance", number=True),
)
"""`starts`, `runs`: standard deviation between process starts of one run, and between runs. `detectable`: the smallest
change that such a comparison detects."""


def render(noises: Mapping[str, Sequence[Noise]], *, width: int = 80) -> str:
    """Render the table, the rate of false alarms, and the line for the ini file.

    Args:
        noises: The noise of each case by id, in the order of the table.
        width: Line width in characters.
    """
    every = [each for several in noises.values() for each in several]
    if not every:
        return "no case was measured twice, so there is no noise to report"
    rows = [row for case_id, several in noises.items() for row in _rows(case_id, several)]
    lines = lay_out(COLUMNS, rows, width)
    remarks = [_alarms(every), *_coarse(every)]
    lines += ["", *(part for line in remarks for part in wrapped(line, width, indent="    "))]
    return "\n".join((*lines, "", "for the ini file:", printable(ini_line(noises))))


def ini_line(noises: Mapping[str, Sequence[Noise]]) -> str:
    """Format tolerances that suit every case as a line of an ini file.

    >>> ini_line({})
    'devperf_tolerance ='
    """
    words = [f"{metric}={percent:g}%" for metric, percent in recommended(noises).items() if percent > 0]
    return " ".join(("devperf_tolerance =", *words))


def _rows(case_id: str, several: Sequence[Noise]) -> list[Row]:
    return [
        (
            case_id if at == 0 else "",
            each.metric,
            format_value(each.centre, each.unit),
            format_percent(each.starts_pct),
            format_percent(each.runs_pct),
            format_percent(each.spread_pct),
            f"{each.suspects} of {each.comparisons}",
            f"{each.false_alarms} of {each.comparisons}",
            format_percent(each.detectable_pct),
            f"{each.tolerance_pct:g} %",
        )
        for at, each in enumerate(several)
    ]


def _alarms(every: Sequence[Noise]) -> str:
    """Describe how often unchanged code would have failed."""
    comparisons = sum(each.comparisons for each in every)
    alarms = sum(each.false_alarms for each in every)
    repetitions = max(each.repetitions for each in every)
    rate = f" ({100 * alarms / comparisons:.1f} %)" if comparisons else ""
    enough = repetitions > FEWEST
    confirmed = "a third one confirmed suspects" if enough else "none was left to confirm a suspect: take 3 or more"
    others = "every other one" if repetitions <= NEIGHBOURS + 1 else f"the {NEIGHBOURS} before and after it"
    return (
        f"false alarms: {alarms} of {counted(comparisons, 'comparison')}{rate}; each of "
        f"{counted(repetitions, 'repetition')} was compared with {others}, and {confirmed}"
    )


def _coarse(every: Sequence[Noise]) -> list[str]:
    """Name the metrics whose changes a comparison on this machine would miss."""
    coarse = sum(1 for each in every if (each.detectable_pct or 0.0) > COARSE_PERCENT)
    if not coarse:
        return []
    return [
        f"coarse: {coarse} of {counted(len(every), 'metric')} would hide a change of {COARSE_PERCENT:g} %: "
        "smaller changes show on a quieter device, with more process starts or more saved runs (--devperf-append)"
    ]

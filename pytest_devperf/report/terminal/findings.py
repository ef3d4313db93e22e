"""Format the examination of a device."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pytest_devperf.doctor.finding import Finding, ordered
from pytest_devperf.doctor.trial import Trial
from pytest_devperf.english import counted
from pytest_devperf.report.terminal.paint import Paint, no_paint

GOOD_ALIKE = ("good", "unknown")
"""Grades that are listed without their costs, in one paragraph each."""


def render(findings: Sequence[Finding], trials: Mapping[str, Trial], *, width: int, paint: Paint = no_paint) -> str:
    """Format findings, the worst first, and what the trials showed.

    Args:
        findings: All findings of a device.
        trials: How the work was bound -> what its trial showed; the first as sessions run.
        width: Columns of the output.
        paint: Adds colours.
    """
    lines: list[str] = []
    for finding in ordered(findings):
        if finding.grade not in GOOD_ALIKE:
            lines += [*_described(finding, width, paint), ""]
    for grade, words in zip(GOOD_ALIKE, ("good", "not known"), strict=True):
        alike = [each for each in findings if each.grade == grade]
        if alike:
            shown = [each.check if grade == "unknown" else f"{each.check}: {each.found}" for each in alike]
            lines += textwrap.wrap(
                f"{words}: {'; '.join(shown)}", width, subsequent_indent="    ", break_on_hyphens=False
            )
    if trials:
        lines += ["", *(line for one in trial_lines(trials) for line in textwrap.wrap(one, width))]
    return "\n".join(lines)


def _described(finding: Finding, width: int, paint: Paint) -> Iterator[str]:
    label = f"{finding.grade:<4}  "
    head = textwrap.wrap(
        f"{finding.check}: {finding.found}", width, initial_indent=" " * len(label), subsequent_indent=" " * 10
    )
    tone = {"bad": "bad", "poor": "warn"}.get(finding.grade)
    shown = finding.grade if tone is None else paint(finding.grade, tone)  # type: ignore[arg-type]
    yield shown + head[0][len(finding.grade) :]
    yield from head[1:]
    for word, text in (("costs", finding.costs), ("remedy", finding.remedy)):
        if text:
            yield from textwrap.wrap(
                text,
                width,
                initial_indent=f"      {word + ':':<8}",
                subsequent_indent=" " * 14,
                break_on_hyphens=False,
                break_long_words=False,
            )


def trial_lines(trials: Mapping[str, Trial]) -> Iterator[str]:
    """Describe what could be seen on the device, and whether binding the work to a CPU helps."""
    (usual, first), *others = trials.items()
    yield (
        f"Measured {usual}: two runs of the same code, {counted(first.starts, 'process start')} each, differ by "
        f"{abs(first.delta_pct):.1f} %. The smallest slowdown that can be seen here now is {_seen(first)}."
    )
    for how, trial in others:
        yield (
            f"Measured {how}: the two runs differ by {abs(trial.delta_pct):.1f} %, and the smallest slowdown that can "
            f"be seen is {_seen(trial)}."
        )


def _seen(trial: Trial) -> str:
    return "unknown: everything is hidden" if trial.detectable_pct is None else f"{trial.detectable_pct:.1f} %"


def as_document(device: str, findings: Sequence[Finding], trials: Mapping[str, Trial]) -> dict[str, Any]:
    """Return findings and trials as values for JSON."""
    return {
        "device": device,
        "findings": [asdict(each) for each in ordered(findings)],
        "trials": [{"how": how, **asdict(trial)} for how, trial in trials.items()],
    }

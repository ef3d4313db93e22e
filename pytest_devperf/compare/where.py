"""Format where the time of a change went."""

from __future__ import annotations

from pytest_devperf.compare.words import number, suited
from pytest_devperf.explain.cause import Cause, Explanation
from pytest_devperf.record.record import Change, Comparison


def where_lines(comparison: Comparison) -> list[str]:
    """Format the explanation of a comparison, a sentence for each cause; empty if nobody looked."""
    explanation = comparison.explanation
    if explanation is None:
        return []
    change = next((change for change in comparison.changes if change.metric == explanation.metric), None)
    return _lines(explanation, change) if change is not None else []


def _lines(explanation: Explanation, change: Change) -> list[str]:
    if explanation.reason is not None:
        return [f"where: {explanation.reason}"]
    if explanation.spread:
        files = ", ".join(f"{cause.name} ({100 * (cause.share or 0.0):.0f} %)" for cause in explanation.causes)
        return [f"where: no single function, spread over {files}"]
    return [f"where: {_cause(cause, change)}" for cause in explanation.causes]


def _cause(cause: Cause, change: Change) -> str:
    likely = "" if cause.certain else "likely "
    part = "" if cause.share is None else f" {_part(cause.share, change)}"
    return f"{likely}{cause.name}{part}{_calls(cause)}"


def _part(share: float, change: Change) -> str:
    """Format a part of a change in the unit of the whole: +0.31 of +0.33 ms (94 %)."""
    delta = change.delta or 0.0
    size, unit = suited(delta, change.unit)
    part, whole = (f"{'+' if delta > 0 else '-'}{number(abs(value) / size)}" for value in (share * delta, delta))
    return f"{part} of {whole} {unit} ({100 * share:.0f} %)"


def _calls(cause: Cause) -> str:
    """Format what is certain of a cause: its calls before and now, or what it works on."""
    if cause.calls is None:
        return f", {cause.detail}" if cause.detail else ""
    file, _, function = (cause.caller or "").partition(" ")
    caller = function if cause.name.startswith(f"{file} ") else cause.caller
    return f", calls {format_count(cause.calls[0])} -> {format_count(cause.calls[1])}" + (
        f" from {caller}" if caller else ""
    )


def format_count(calls: float) -> str:
    """Format calls per iteration; a part of one if not every iteration makes it.

    >>> format_count(500), format_count(500.0), format_count(0.25)
    ('500', '500', '0.25')
    """
    return f"{calls:.0f}" if calls == int(calls) else f"{calls:.3g}"

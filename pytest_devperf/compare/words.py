"""Format a change as a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pytest_devperf.metric import IR
from pytest_devperf.record.record import Change, Measurement

TIME_UNITS = ((1e3, "s"), (1.0, "ms"), (1e-3, "µs"), (1e-6, "ns"))
"""Units of time with their size in ms, largest first."""

EXACT_FROM = 1000
"""Instructions from which tenths are not shown: they come from dividing by loops."""

STOPPED = {
    "confirm": "a second measurement did not find it again",
    "starts": "process starts differ by as much",
    "waits": "its thread waited for a CPU in nearly every iteration, which that of the baseline did not",
    "anchor": "the whole machine was slower, as its anchor shows",
    "unconfirmed": "not measured again",
}
"""Why a suspect is not a regression, by the step that it did not pass."""

VERDICTS = {"within_noise": "within noise"}
"""Verdicts whose displayed word differs from their name."""


COARSE_PERCENT = 5.0
"""A change that users expect a comparison to detect; a quiet verdict that could not have detected it is marked."""

COARSE = "(coarse)"
"""Mark of such a verdict. A comparison that is blind, beyond `--devperf-blind`, has no quiet verdict at all."""

LESS_BLIND = "end other programs, or measure in turns (--devperf-against, devperf.paired)"
"""What helps if even the largest number of process starts leaves a saved run blind."""


def coarse(change: Change) -> bool:
    """Return whether a quiet verdict could not have detected a change that users expect it to detect."""
    return change.verdict == "within_noise" and (change.detectable_pct or 0.0) > COARSE_PERCENT


def sentence(change: Change) -> str:
    """Format the result of a metric, with values in a suitable unit.

    >>> sentence(Change(metric="latency", verdict="regressed", baseline=12.31, candidate=14.8, delta=2.49,
    ...     delta_pct=20.23, decided_by="iqr", threshold=0.41, iqr_baseline=0.3, iqr_candidate=0.41, confirmed=True))
    "latency regressed: 12.31 -> 14.80 ms (+20.2 %), beyond the run's IQR of 0.41 ms (3.3 %); confirmed"
    """
    head = f"{change.metric} {VERDICTS.get(change.verdict, change.verdict)}"
    if change.baseline is None or change.candidate is None or change.delta_pct is None:
        return f"{head}: {change.reason}" if change.reason else head
    if change.unit == IR:
        return _counted_sentence(head, change)
    size, unit = unit_of(change)
    values = f"{number(change.baseline / size)} -> {number(change.candidate / size)}"
    parts = [f"{head}: {values}{_space(unit)} ({change.delta_pct:+.1f} %){_bounds(change)}"]
    if change.reason:
        parts.append(change.reason)
    if change.stopped_by in STOPPED:
        parts.append(STOPPED[change.stopped_by])
    elif change.verdict == "regressed" and change.confirmed:
        parts.append("confirmed")
    elif coarse(change):
        parts.append(could_not_find((change.detectable_pct or 0.0) / 100))
    return "; ".join(parts)


def _counted_sentence(head: str, change: Change) -> str:
    """Format the result of counted instructions, of which every digit is known.

    >>> sentence(Change(metric="instructions", verdict="regressed", unit="Ir", baseline=594014.0, candidate=597100.0,
    ...     delta=3086.0, delta_pct=0.5195, decided_by="tolerance", threshold=2970.0, confirmed=True))
    'instructions regressed: 594,014 -> 597,100 Ir (+0.52 %), beyond the tolerance of 0.50 %; counted again'
    """
    assert change.baseline is not None
    assert change.candidate is not None
    words = (
        f"{head}: {format_count(change.baseline)} -> {format_count(change.candidate)} Ir ({change.delta_pct:+.2f} %)"
    )
    if change.threshold is not None and change.baseline:
        side = "within" if change.verdict == "within_noise" else "beyond"
        bound = {"iqr": "the range of its memory layouts,"}.get(change.decided_by or "", "the tolerance of")
        words += f", {side} {bound} {100 * change.threshold / change.baseline:.2f} %"
    stopped = {"confirm": "counting again did not find it", "unconfirmed": "not counted again"}
    further = stopped.get(change.stopped_by or "") or ("counted again" if change.confirmed else None) or change.reason
    return f"{words}; {further}" if further else words


def format_count(instructions: float) -> str:
    """Format a number of instructions: all its digits, and tenths if it is small.

    >>> format_count(594014.0), format_count(428.83)
    ('594,014', '428.8')
    """
    return f"{instructions:,.{0 if instructions >= EXACT_FROM else 1}f}"


def could_not_find(fraction: float) -> str:
    """Format how large a change would have been hidden.

    >>> could_not_find(0.4)
    'a change below 40 % could not have been found'
    """
    if not math.isfinite(fraction):
        return "no change could have been found, because nothing is known of what process starts differ by"
    return f"a change below {100 * fraction:.0f} % could not have been found"


def blind_words(least: Mapping[str, float]) -> str:
    """Format what no comparison with a saved run could find, by metric, and what helps.

    >>> blind_words({"latency": 0.4}).partition(": end")[0]
    'latency: a change below 40 % could not have been found'
    """
    found = "; ".join(f"{name}: {could_not_find(fraction)}" for name, fraction in least.items())
    return f"{found}: {LESS_BLIND}"


def too_slow(slow: Measurement, *, now: bool = True) -> str:
    """Format that the budget of a metric without values was too small, and the budget it needs."""
    needs = f": it needs --devperf-max-time={slow.needs_s:g}" if slow.needs_s is not None else ""
    return f"too slow for its budget{'' if now else ' in the baseline'}{needs}"


def unit_of(change: Change) -> tuple[float, str]:
    """Choose a unit that suits both values of a change: its size in the change's unit, and its name."""
    return suited(min(abs(change.baseline or 0.0) or 1.0, abs(change.candidate or 0.0) or 1.0), change.unit)


def suited(value: float, unit: str) -> tuple[float, str]:
    """Choose the unit of a value: times are scaled to ns, µs, ms or s, other units are kept.

    >>> suited(0.0042, "ms")
    (0.001, 'µs')
    """
    if unit != "ms":
        return 1.0, unit
    for size, name in TIME_UNITS:
        if abs(value) >= size:
            return size, name
    return TIME_UNITS[-1]


def format_value(value: float, unit: str) -> str:
    """Format a value with its unit.

    >>> format_value(0.41, "ms"), format_value(61.0, "MiB")
    ('410.0 µs', '61.00 MiB')
    """
    size, name = suited(value, unit)
    return f"{number(value / size)}{_space(name)}"


def _bounds(change: Change) -> str:
    """Name the bound of the delta: always the IQR, and the larger bound if there is one."""
    if change.threshold is None or change.iqr_baseline is None or change.iqr_candidate is None or not change.baseline:
        return ""
    iqr = max(change.iqr_baseline, change.iqr_candidate)
    where = "beyond" if change.verdict in {"regressed", "improved", "suspect"} else "inside"
    if where == "inside" and change.delta is not None and abs(change.delta) > change.threshold:
        where = "within what process starts or the machine differ by, though beyond"
    if where == "beyond" and not change.threshold:
        return ", beyond the tolerance of 0 %"
    words = f"the run's IQR of {_with_share(iqr, change)}"
    if change.decided_by == "tolerance":
        words += f" and the tolerance of {_with_share(change.threshold, change)}"
    elif change.decided_by == "tick":
        words += f" and two ticks of the clock, {_with_share(change.threshold, change)}"
    if where == "inside" and change.decided_by != "iqr":
        words = words.partition(" and ")[2]
    return f", {where} {words}"


def _with_share(value: float, change: Change) -> str:
    """Format a bound in the unit of the values, and in percent of the baseline."""
    size, unit = unit_of(change)
    percent = 100 * value / abs(change.baseline or 1.0)
    return f"{number(value / size)}{_space(unit)} ({percent:.1f} %)"


def number(value: float) -> str:
    """Format a number with two decimals, fewer if it is large, or two significant digits if it is small."""
    size = abs(value)
    if size >= 100_000:  # noqa: PLR2004 - nobody reads six digits one by one
        return f"{value:.0f}"
    if size >= 100:  # noqa: PLR2004 - four digits in all
        return f"{value:.1f}"
    if size >= 0.1 or not size:  # noqa: PLR2004 - two decimals show two digits
        return f"{value:.2f}"
    return f"{value:.2g}"


def _space(unit: str) -> str:
    return f" {unit}" if unit else ""

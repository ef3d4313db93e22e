"""One line on what is going on: a wait as it goes, a case as it is measured."""

from __future__ import annotations

from pytest_devperf.measure.cooldown import Cooling

NAME_CHARACTERS = 60
"""Of a case's id the end is shown: it tells cases of one file apart."""


def format_cooling(step: Cooling) -> str:
    """Say in one line how a wait stands."""
    words = ["temperature unknown" if step.temp_c is None else f"{step.temp_c:.1f} °C"]
    if step.slope_c_per_min is not None:
        words.append(f"{step.slope_c_per_min:+.2f} °C/min")
    words.append(f"{step.waited_s:.0f} s waited")
    if step.done:
        words.append("gave up: still warm" if step.timed_out else "cool")
    else:
        words.append(f"{step.left_s:.0f} s left at most")
    if step.throttled:
        words.append("throttling")
    if step.charging and not step.settled:
        words.append("charging keeps it warm")
    return ", ".join(words)


def format_measuring(case_id: str, start: int, temp_c: float | None) -> str:
    """Say which case is being measured, and how warm the device is.

    >>> format_measuring("test_a.py::test_b", 1, 31.25)
    'start 2: test_a.py::test_b, 31.2 °C'
    """
    warm = "" if temp_c is None else f", {temp_c:.1f} °C"
    return f"start {start + 1}: {case_id[-NAME_CHARACTERS:]}{warm}"


def wait_words(step: Cooling | None) -> str | None:
    """Say what a record has to tell of a wait that did not find what it waited for; None where it did."""
    if step is None:
        return None
    if step.timed_out:
        return f"measured warm: not cool after {step.waited_s:.0f} s"
    if step.temp_c is None:
        return f"no temperature can be read: waited {step.waited_s:.0f} s instead of for a plateau"
    return None

"""Format the live line: the progress of a wait, and the case being measured."""

from __future__ import annotations

from pytest_devperf.measure.cooldown import Cooling
from pytest_devperf.report.table import shorten
from pytest_devperf.untrusted import printable

SHORTEST_NAME = 16
"""Characters of a case's id that the live line always shows, however narrow the terminal."""


def format_cooling(step: Cooling) -> str:
    """Format the progress of a wait as one line.

    >>> format_cooling(Cooling(temp_c=None, slope_c_per_min=None, waited_s=0.0, left_s=0.0, done=True))
    'temperature unknown, waited 0 s, done'
    """
    words = ["temperature unknown" if step.temp_c is None else f"{step.temp_c:.1f} °C"]
    if step.slope_c_per_min is not None:
        words.append(f"{step.slope_c_per_min:+.2f} °C/min")
    words.append(f"waited {step.waited_s:.0f} s")
    if step.done:
        words.append("gave up: still warm" if step.timed_out else "done" if step.temp_c is None else "cool")
    else:
        words.append(f"at most {step.left_s:.0f} s left")
    if step.throttled:
        words.append("throttling")
    if step.charging and not step.settled:
        words.append("charging keeps it warm")
    return ", ".join(words)


def format_measuring(stage: str, case_id: str, place: int, cases: int, temp_c: float | None, width: int) -> str:
    """Format which case is being measured, and the temperature of the device.

    >>> format_measuring("start 2 of 3", "test_a.py::test_b", 4, 6, 31.25, 80)
    'start 2 of 3, case 4 of 6: test_a.py::test_b, 31.2 °C'
    >>> format_measuring("start 1 of 3", "tests/test_a.py::test_b", 1, 1, None, 32)
    'start 1 of 3: tests/t…py::test_b'
    >>> format_measuring("start 1 of 3", "tests/test_a.py::test_b", 1, 2, None, 32)
    'start 1 of 3: tests/t…py::test_b'

    Args:
        stage: The current process start and its purpose.
        case_id: Id of the case.
        place: Its index among the cases of this stage, from 1.
        cases: How many cases the stage has; the index is left out if there is only one case, or no room.
        temp_c: Temperature after the latest round, if known.
        width: Line width in characters; the id is shortened to fit.
    """
    which = f", case {place} of {cases}" if cases > 1 else ""
    warm = "" if temp_c is None else f", {temp_c:.1f} °C"
    room = width - len(f"{stage}{which}: {warm}")
    if room < min(SHORTEST_NAME, len(case_id)):
        which, room = "", room + len(which)
    return f"{stage}{which}: {shorten(printable(case_id), max(room, SHORTEST_NAME))}{warm}"


def wait_words(step: Cooling | None) -> str | None:
    """Describe a wait that timed out; return None if the device cooled down."""
    if step is None:
        return None
    if step.timed_out:
        return f"measured warm: not cool after {step.waited_s:.0f} s"
    if step.temp_c is None:
        return f"no temperature can be read: waited {step.waited_s:.0f} s, not for a plateau"
    return None

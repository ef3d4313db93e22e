"""A phone that went away: the error that says so, and work that may fail for it."""

from __future__ import annotations

import contextlib

from pytest_devperf.errors import TargetError
from pytest_devperf.targets.android.adb.stream import Timeout

STATES_OF_LOSS = (OSError, EOFError, ValueError, Timeout)
"""What a dropped link looks like, apart from adbutils' own errors."""


def lost(device: str, doing: str, reason: BaseException | str) -> TargetError:
    """Make the error of a phone that went away: which one, and while doing what."""
    words = str(reason).strip() or type(reason).__name__
    return TargetError(
        f"{device} stopped answering while {doing} ({words})",
        "check cable, screen lock and battery, see that `adb devices` lists it as `device`, and run again",
    )


def best_effort() -> contextlib.suppress:
    """Ignore the loss of a phone while tidying up: a phone that is gone keeps its files until the next start."""
    return contextlib.suppress(TargetError)

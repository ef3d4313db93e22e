"""The error for a phone that is gone, and a guard for work that may fail because of it."""

from __future__ import annotations

import contextlib

from pytest_devperf.errors import TargetError
from pytest_devperf.targets.android.adb.stream import Timeout

STATES_OF_LOSS = (OSError, EOFError, ValueError, Timeout)
"""Errors of a dropped link, apart from those of adbutils."""


def lost(device: str, doing: str, reason: BaseException | str) -> TargetError:
    """Create the error for a phone that is gone; it names the phone and the activity."""
    words = str(reason).strip() or type(reason).__name__
    return TargetError(
        f"{device} stopped answering while {doing} ({words})",
        "check cable, screen lock and battery, check that `adb devices` lists it as `device`, and run again",
    )


def best_effort() -> contextlib.suppress:
    """Ignore the loss of a phone during cleanup: the next start removes the files."""
    return contextlib.suppress(TargetError)

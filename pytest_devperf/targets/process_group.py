"""End a process on this machine together with everything it started."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

from pytest_devperf.untrusted import LINE_WIDTH

GRACE_S = 3.0
"""Time between asking a program to end and killing it: enough to write a file, and not too long for a waiting user."""

LOOK_EVERY_S = 0.005
"""Pause between two checks of processes: one check of all of them takes as long."""

SHOWN_LEFT = 3
"""Processes left running that a caution names; for more, it gives only the number."""


def end_group(child: subprocess.Popen[bytes]) -> None:
    """End a program and everything it started: ask first, then kill."""
    if not hasattr(os, "killpg"):
        child.kill()
        child.wait()
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_S)
            break
    child.wait()
    end_left(child.pid)


def end_left(group: int) -> str | None:
    """End the processes that a program left running, and name them; None if it left none.

    A process that has left its process group (a daemon) is not found.
    """
    if not hasattr(os, "killpg") or not (left := _members(group)):
        return None
    try:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
            if _is_empty_within(group, GRACE_S):
                break
    except BaseException:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
        raise
    more = f" and {len(left) - SHOWN_LEFT} more" if len(left) > SHOWN_LEFT else ""
    return ", ".join(left[:SHOWN_LEFT]) + more


def _is_empty_within(group: int, seconds: float) -> bool:
    until_s = time.monotonic() + seconds
    while _members(group):
        if time.monotonic() >= until_s:
            return False
        time.sleep(LOOK_EVERY_S)
    return True


def _members(group: int) -> list[str]:
    """Name the processes of a group that still run; leave out zombies, which do nothing."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return []
    except PermissionError:
        pass  # a process may belong to another user
    import psutil

    members = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                members.append(" ".join(process.cmdline())[:LINE_WIDTH] or process.name())
    return members

"""Kill a process at an exact step of its work, for example before the n-th change of a folder."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANGES = frozenset({"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.chmod"})
"""Events of Python that precede a change of a file system. Source: Python's table of audit events."""

FAILED = 99
"""Exit code of a child that raised an exception."""


class Countdown:
    """Kills this process at a step."""

    def __init__(self, step: int | None) -> None:
        self.left = step

    def __call__(self) -> None:
        if self.left is None:
            return
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1


CREATES = frozenset({"open", "os.mkdir"})
"""Those of them that need space."""


def watch_changes(folder: Path, at_change: Callable[[], None], events: frozenset[str] = CHANGES) -> None:
    """Call a function before each change below a folder and each sync of it; this lasts until the process ends."""
    root, fsync = str(folder), os.fsync

    def synced(descriptor: int) -> None:
        if _path_of(descriptor, root).startswith(root):
            at_change()
        fsync(descriptor)

    os.fsync = synced

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event not in events or not isinstance(args[0], (str, bytes, os.PathLike)):
            return
        reads = event == "open" and isinstance(args[2], int) and not args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if not reads and os.fsdecode(args[0]).startswith(root):
            at_change()

    sys.addaudithook(hook)


class Failing:
    """Makes every change from a step on fail, as on a disk that filled up; what was begun can be deleted."""

    def __init__(self, step: int, number: int) -> None:
        self.left = step
        self.number = number

    def __call__(self) -> None:
        if self.left > 0:
            self.left -= 1
            return
        raise OSError(self.number, os.strerror(self.number))


def _path_of(descriptor: int, otherwise: str) -> str:
    """Find the path of an open file, on systems that show it."""
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    except OSError:
        return otherwise


def watch_growth(folder: Path, at_change: Callable[[], None]) -> None:
    """Call a function before anything below a folder is created or synced; this lasts until the process ends."""
    watch_changes(folder, at_change, CREATES)


def in_child(work: Callable[[], object]) -> int:
    """Run work in a forked child; return its exit code, negative if a signal ended it."""
    pid = os.fork()
    if pid == 0:
        code = FAILED
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - a forked child must not go on with the tests
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def was_killed(code: int) -> bool:
    """Tell whether a child ended as planned; one that failed for another reason fails the test."""
    assert code in {0, -signal.SIGKILL}, f"the child ended with {code}"
    return code != 0

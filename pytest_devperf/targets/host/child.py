"""A program as a process of this machine: started, waited for, and ended with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from pytest_devperf.errors import CaseError

LAST_LINES = 10
"""Lines of a failed program's output that its case shows: a message and its traceback's end."""

LINE_WIDTH = 160
"""Characters of such a line."""

GRACE_S = 3.0
"""Time between asking a program to end and ending it: enough to write a file, short for one who waits."""

LOOK_EVERY_S = 0.005
"""Pause between two looks at processes that are watched or asked to end: a look through all of them takes as long."""

SHOWN_LEFT = 3
"""Processes left running that are named; of more only their number counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What is started."""

    argv: tuple[str, ...]
    """The program's absolute path, then its arguments; no shell reads them."""
    environment: Mapping[str, str]
    """Variables added to this process's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What one start of a program printed, and what it left behind."""

    out: str
    err: str
    took_ns: int
    """Wall time from the start to the end."""
    left: str | None = None
    """Processes it had left running, which were ended."""

    @property
    def last(self) -> str:
        """The last lines, its errors after its results."""
        lines = [line.rstrip()[:LINE_WIDTH] for line in (self.out + "\n" + self.err).splitlines() if line.strip()]
        return f"it ended with: {' | '.join(lines[-LAST_LINES:])}" if lines else "it printed nothing"


def run_program(
    launch: Launch,
    *,
    name: str,
    cwd: str,
    timeout_s: float,
    now_ns: Callable[[], int],
    watch: Callable[[int], None] | None = None,
) -> Printed:
    """Start a program, wait for it, end what it left running, and take what it printed.

    Args:
        launch: The program.
        name: What a user calls it.
        cwd: Folder it runs in.
        timeout_s: Longest wait.
        now_ns: Reads the clock it is timed with.
        watch: Called with the process id again and again while it runs.

    Raises:
        CaseError: It cannot be started, took too long or failed.
    """
    # Files, not pipes: nobody has to read while the program measures itself.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started_ns = now_ns()
        try:
            with held_interrupts() as interrupted:
                child = subprocess.Popen(
                    launch.argv,
                    cwd=cwd,
                    env={**os.environ, **launch.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
        except OSError as error:
            raise CaseError(f"{name} cannot be started: {error.strerror}", launch.argv[0]) from error
        if interrupted:
            end_group(child)
            raise KeyboardInterrupt
        in_time = _wait(child, timeout_s, watch)
        took_ns = now_ns() - started_ns
        left = end_left(child.pid) if in_time else None
        printed = Printed(out=_text(out), err=_text(err), took_ns=took_ns, left=left)
    if not in_time:
        raise CaseError(f"{name} took longer than {timeout_s:g} s", printed.last)
    if child.returncode:
        raise CaseError(f"{name} ended with {_format_code(child.returncode)}", printed.last)
    return printed


@contextmanager
def held_interrupts() -> Iterator[list[int]]:
    """Note Ctrl-C instead of raising it while a program starts: raised in between, nobody would know its id.

    Yields:
        The signals that came. Only the main thread receives them; elsewhere nothing is held.
    """
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    # None: a handler that is not Python's and could not be put back. Ignored: nothing would be raised.
    if threading.current_thread() is not threading.main_thread() or before in {None, signal.SIG_IGN}:
        yield came
        return
    signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def _wait(child: subprocess.Popen[bytes], timeout_s: float, watch: Callable[[int], None] | None) -> bool:
    """Wait for a program; False if it was ended for taking too long. An interrupt ends it, too."""
    try:
        if watch is not None:
            return _wait_watching(child, timeout_s, watch)
        if not hasattr(os, "killpg"):
            child.wait(timeout_s)
            return True
        # `Popen.wait(timeout)` looks every 50 ms here, which the time of a program would show.
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            end_group(child)

        timer = threading.Timer(timeout_s, expire)
        timer.daemon = True
        timer.start()
        try:
            child.wait()
        finally:
            timer.cancel()
    except subprocess.TimeoutExpired:
        end_group(child)
        return False
    except BaseException:
        end_group(child)
        raise
    return not expired.is_set()


def _wait_watching(child: subprocess.Popen[bytes], timeout_s: float, watch: Callable[[int], None]) -> bool:
    until_s = time.monotonic() + timeout_s
    while child.poll() is None and time.monotonic() < until_s:
        watch(child.pid)
        time.sleep(LOOK_EVERY_S)
    child.wait(max(0.0, until_s - time.monotonic()))
    return True


def end_group(child: subprocess.Popen[bytes]) -> None:
    """End a program and everything it started: ask first, then insist."""
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
    """End what a program that has ended left running, and name it; None if that is nothing.

    What has left its process group (a daemon) is on its own.
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
    """Name the processes of a group that still run; a zombie waits for whoever started it, and does nothing."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return []
    except PermissionError:
        pass  # some of them may be another user's
    import psutil

    members = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                members.append(" ".join(process.cmdline())[:LINE_WIDTH] or process.name())
    return members


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _format_code(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def children_cpu_ns() -> int | None:
    """Read the CPU time of all children that have ended; None on a system that does not count it."""
    try:
        import resource
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e9)

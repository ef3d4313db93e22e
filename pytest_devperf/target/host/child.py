"""A program as a process of this machine: started, waited for, and ended with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
"""Pause between two looks at a program's memory: the kernel keeps the peak, only the last rise can be missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What one start of a program printed."""

    out: str
    err: str

    @property
    def last(self) -> str:
        """The last lines, its errors after its results."""
        lines = [line.rstrip()[:LINE_WIDTH] for line in (self.out + "\n" + self.err).splitlines() if line.strip()]
        return f"it ended with: {' | '.join(lines[-LAST_LINES:])}" if lines else "it printed nothing"


def run_program(
    arguments: Sequence[str],
    *,
    name: str,
    cwd: str,
    environment: Mapping[str, str],
    timeout_s: float,
    watch: Callable[[int], None] | None = None,
) -> Printed:
    """Start a program, wait for it and take what it printed.

    Args:
        arguments: The program's absolute path, then its arguments; no shell reads them.
        name: What a user calls it.
        cwd: Folder it runs in.
        environment: Variables added to this process's.
        timeout_s: Longest wait.
        watch: Called with the process id again and again while it runs.

    Raises:
        CaseError: It cannot be started, took too long or failed.
    """
    # Files, not pipes: nobody has to read while the program measures itself.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            with held_interrupts() as interrupted:
                child = subprocess.Popen(
                    arguments,
                    cwd=cwd,
                    env={**os.environ, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
        except OSError as error:
            raise CaseError(f"{name} cannot be started: {error.strerror}", arguments[0]) from error
        if interrupted:
            end_group(child)
            raise KeyboardInterrupt
        in_time = _wait(child, timeout_s, watch)
        printed = Printed(out=_text(out), err=_text(err))
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
    """Wait for a program; False where it was ended for taking too long. An interrupt ends it, too."""
    try:
        if watch is not None:
            until = time.monotonic() + timeout_s
            while child.poll() is None and time.monotonic() < until:
                watch(child.pid)
                time.sleep(LOOK_EVERY_S)
            timeout_s = max(0.0, until - time.monotonic())
        child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        end_group(child)
        return False
    except BaseException:
        end_group(child)
        raise
    return True


def end_group(child: subprocess.Popen[bytes]) -> None:
    """End a program and everything it started: ask first, then insist."""
    if not hasattr(os, "killpg"):
        child.kill()
        child.wait()
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
        except (ProcessLookupError, PermissionError):
            break
        try:
            child.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            continue
    child.wait()


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

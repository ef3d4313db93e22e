"""A program as a process on this machine: started, awaited, and read."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from pytest_devperf.errors import CaseError
from pytest_devperf.targets.process_group import LOOK_EVERY_S, end_group, end_left
from pytest_devperf.untrusted import last_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A program with its arguments and environment."""

    argv: tuple[str, ...]
    """The program's absolute path, then its arguments; they are not passed through a shell."""
    environment: Mapping[str, str]
    """Variables added to this process's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedProgram:
    """The output of one start of a program, and the processes it left behind."""

    out: str
    err: str
    took_ns: int
    """Wall time from start to end."""
    left: str | None = None
    """Processes that it left running, which were then ended."""

    @property
    def last(self) -> str:
        """The last lines, errors after results."""
        lines = last_lines(f"{self.out}\n{self.err}")
        return f"it ended with: {' | '.join(lines)}" if lines else "it printed nothing"


def run_program(
    invocation: Invocation,
    *,
    name: str,
    cwd: str,
    timeout_s: float,
    now_ns: Callable[[], int],
    watch: Callable[[int], None] | None = None,
) -> CompletedProgram:
    """Start a program, wait for it, end processes it left running, and return its output.

    Args:
        invocation: The program.
        name: Name for users.
        cwd: Working directory.
        timeout_s: Longest wait.
        now_ns: Reads the clock that times the program.
        watch: Called with the process id again and again while the program runs.

    Raises:
        CaseError: The program cannot be started, took too long or failed.
    """
    # Files, not pipes: nobody reads while the program measures itself.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started_ns = now_ns()
        try:
            with held_interrupts() as interrupted:
                child = start_in_session(invocation, cwd=cwd, stdout=out, stderr=err)
        except OSError as error:
            raise CaseError(f"{name} cannot be started: {error.strerror}", invocation.argv[0]) from error
        if interrupted:
            end_group(child)
            raise KeyboardInterrupt
        in_time = _wait(child, timeout_s, watch)
        took_ns = now_ns() - started_ns
        left = end_left(child.pid) if in_time else None
        completed = CompletedProgram(out=text_of(out), err=text_of(err), took_ns=took_ns, left=left)
    if not in_time:
        raise CaseError(f"{name} took longer than {timeout_s:g} s", completed.last)
    if child.returncode:
        raise CaseError(f"{name} ended with {format_code(child.returncode)}", completed.last)
    return completed


def start_in_session(
    invocation: Invocation, *, cwd: str | None, stdout: IO[bytes], stderr: IO[bytes] | int
) -> subprocess.Popen[bytes]:
    """Start a program as the leader of its own process group, without input.

    Raises:
        OSError: The program cannot be started.
    """
    return subprocess.Popen(
        invocation.argv,
        cwd=cwd,
        env={**os.environ, **invocation.environment},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


@contextmanager
def held_interrupts() -> Iterator[list[int]]:
    """Note Ctrl-C instead of raising it while a program starts: otherwise its process id could be lost.

    Yields:
        The signals that arrived. Only the main thread receives signals; in other threads nothing is held.
    """
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    # None: a handler outside Python, which could not be restored. Ignored: nothing would be raised.
    if threading.current_thread() is not threading.main_thread() or before in {None, signal.SIG_IGN}:
        yield came
        return
    signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def _wait(child: subprocess.Popen[bytes], timeout_s: float, watch: Callable[[int], None] | None) -> bool:
    """Wait for a program; False if it took too long and was ended. An interrupt ends it, too."""
    try:
        if watch is not None:
            return _wait_watching(child, timeout_s, watch)
        if not hasattr(os, "killpg"):
            child.wait(timeout_s)
            return True
        # `Popen.wait(timeout)` polls every 50 ms here, which would show in the program's time.
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


def text_of(file: IO[bytes]) -> str:
    """Read the whole output of a program from its file."""
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def format_code(code: int) -> str:
    """Format a return code of `subprocess`: an exit code, or the signal that ended the program."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"

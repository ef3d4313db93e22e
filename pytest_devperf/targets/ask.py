"""Ask a program a short question: run it without input, and describe in one line how it failed."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_devperf.untrusted import excerpt, printable


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed, and its exit code."""

    out: str
    err: str
    code: int

    @property
    def end(self) -> str:
        """The last line that it printed, errors before results, or its exit code if it printed nothing."""
        lines = (self.err or self.out).strip().splitlines()
        return excerpt(printable(lines[-1])) if lines else f"exit code {self.code}, no output"


def ask_program(
    command: Sequence[str], *, timeout_s: float, cwd: str | None = None, env: Mapping[str, str] | None = None
) -> Answer:
    """Run a program, and return what it printed.

    Args:
        command: The program and its arguments.
        timeout_s: Longest wait.
        cwd: Working directory; None: that of this process.
        env: Its whole environment; None: that of this process.

    Raises:
        OSError: It cannot be started.
        subprocess.TimeoutExpired: It took too long.
    """
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Answer(done.stdout, done.stderr, done.returncode)

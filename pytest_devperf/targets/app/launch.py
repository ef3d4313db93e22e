"""A command of this machine that builds or starts an app."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import final

from pytest_devperf.errors import CaseError

LAST_LINES = 10
"""Lines of a failed command's output that are shown: a compiler's message and its summary."""

GRACE_S = 3.0
"""How long a command may take to end when it is told to."""


@final
class Launch:
    """A command that runs beside, until it ends or the with-block does.

    Args:
        argv: Program and arguments; `{NAME}` is filled in from the environment given here. No shell reads them.
        environment: Variables added to this process's own.
        cwd: Folder it runs in.
        what: What errors call it: `the build of com.example.bench`.

    Raises:
        CaseError: There is no such program.
    """

    def __init__(self, argv: Sequence[str], *, environment: Mapping[str, str], cwd: str | None, what: str) -> None:
        self._what = what
        # A file, not a pipe: nobody has to read while the app is measured.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the with-block
        try:
            self._child = subprocess.Popen(
                [_filled(word, environment) for word in argv],
                cwd=cwd,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self._output.close()
            raise CaseError(f"{what} cannot be started ({argv[0]}: {error.strerror})", "check the command") from error

    def __enter__(self) -> Launch:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the command, if it still runs, and what it started."""
        for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if self._child.poll() is not None:
                break
            self._signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(GRACE_S)
        self._output.close()

    def wait(self) -> None:
        """Wait for its end.

        Raises:
            CaseError: It failed; its last lines are told.
        """
        self._child.wait()
        self.check()

    def check(self) -> None:
        """See that it has not failed so far.

        Raises:
            CaseError: It has; its last lines are told.
        """
        if self._child.poll():
            raise CaseError(f"{self._what} ended with exit code {self._child.returncode}", self._last())

    def _last(self) -> str:
        self._output.seek(0)
        lines = [line for line in self._output.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return "\n".join(lines[-LAST_LINES:]) or "it printed nothing"

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self._child.pid, number)
            else:
                self._child.terminate()


def _filled(word: str, environment: Mapping[str, str]) -> str:
    """Put values for names in braces; other braces stay as they are."""
    for name, value in environment.items():
        word = word.replace(f"{{{name}}}", value)
    return word

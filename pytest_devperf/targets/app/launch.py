"""A command of this machine that builds or starts an app."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import final

from pytest_devperf.errors import CaseError
from pytest_devperf.targets.process import Invocation, start_in_session, text_of
from pytest_devperf.targets.process_group import end_group
from pytest_devperf.untrusted import last_lines


@final
class AppCommand:
    """A command that runs until it ends or the with-block does.

    Args:
        argv: Program and arguments; `{NAME}` is replaced by the variable of this name in `environment`. No shell
            reads them.
        environment: Variables added to this process's own.
        cwd: Folder it runs in.
        what: What errors call it: `the build of com.example.bench`.

    Raises:
        CaseError: There is no such program.
    """

    def __init__(self, argv: Sequence[str], *, environment: Mapping[str, str], cwd: str | None, what: str) -> None:
        self._what = what
        invocation = Invocation(argv=tuple(_filled(word, environment) for word in argv), environment=environment)
        # A file, not a pipe: nobody has to read while the app is measured.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the with-block
        try:
            self._child = start_in_session(invocation, cwd=cwd, stdout=self._output, stderr=subprocess.STDOUT)
        except OSError as error:
            self._output.close()
            raise CaseError(f"{what} cannot be started ({argv[0]}: {error.strerror})", "check the command") from error

    def __enter__(self) -> AppCommand:
        """Return the command, which has been started."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the command and what it started, unless it has ended."""
        if self._child.poll() is None:
            end_group(self._child)
        self._output.close()

    def wait(self) -> None:
        """Wait for its end.

        Raises:
            CaseError: It failed; the error shows its last lines.
        """
        self._child.wait()
        self.check()

    def check(self) -> None:
        """Check that it has not failed so far.

        Raises:
            CaseError: It has; the error shows its last lines.
        """
        if self._child.poll():
            lines = last_lines(text_of(self._output))
            raise CaseError(
                f"{self._what} ended with exit code {self._child.returncode}", "\n".join(lines) or "it printed nothing"
            )


def build_app(argv: Sequence[str] | None, *, environment: Mapping[str, str], cwd: str | None, app: str) -> None:
    """Run the command that builds an app, if there is one.

    Raises:
        CaseError: It cannot be started, or failed.
    """
    if argv is not None:
        with AppCommand(argv, environment=environment, cwd=cwd, what=f"the build of {app}") as build:
            build.wait()


def _filled(word: str, environment: Mapping[str, str]) -> str:
    """Replace names in braces by their values; other braces stay as they are."""
    for name, value in environment.items():
        word = word.replace(f"{{{name}}}", value)
    return word

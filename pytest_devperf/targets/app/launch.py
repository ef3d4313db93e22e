"""A command on this machine that builds or starts an app."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import final

from pytest_devperf.case.workload import App
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.process import Invocation, start_in_session, text_of
from pytest_devperf.targets.process_group import end_group
from pytest_devperf.untrusted import last_lines


@final
class AppCommand:
    """A command that runs until it ends, or until its `with` block ends.

    Args:
        argv: Program and arguments; `{NAME}` is replaced by the variable of this name in `environment`. They
            are not passed through a shell.
        environment: Variables added to those of this process.
        cwd: Working directory.
        what: Name for error messages: `the build of com.example.bench`.

    Raises:
        CaseError: There is no such program.
    """

    def __init__(self, argv: Sequence[str], *, environment: Mapping[str, str], cwd: str | None, what: str) -> None:
        self._what = what
        invocation = Invocation(argv=tuple(_filled(word, environment) for word in argv), environment=environment)
        # A file, not a pipe: nobody reads while the app is measured.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the with-block
        try:
            self._child = start_in_session(invocation, cwd=cwd, stdout=self._output, stderr=subprocess.STDOUT)
        except OSError as error:
            self._output.close()
            raise CaseError(f"{what} cannot be started ({argv[0]}: {error.strerror})", "check the command") from error

    def __enter__(self) -> AppCommand:
        """Return the command, which is already running."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the command and the processes it started."""
        if self._child.poll() is None:
            end_group(self._child)
        self._output.close()

    def wait(self) -> None:
        """Wait until the command ends.

        Raises:
            CaseError: It failed; the error shows its last lines of output.
        """
        self._child.wait()
        self.check()

    def check(self) -> None:
        """Check that the command has not failed so far.

        Raises:
            CaseError: It failed; the error shows its last lines of output.
        """
        if self._child.poll():
            lines = last_lines(text_of(self._output))
            raise CaseError(
                f"{self._what} ended with exit code {self._child.returncode}", "\n".join(lines) or "it printed nothing"
            )


def build_app(argv: Sequence[str] | None, *, environment: Mapping[str, str], cwd: str | None, app: str) -> None:
    """Run the app's build command, if it has one.

    Raises:
        CaseError: The command cannot be started, or failed.
    """
    if argv is not None:
        with AppCommand(argv, environment=environment, cwd=cwd, what=f"the build of {app}") as build:
            build.wait()


def _filled(word: str, environment: Mapping[str, str]) -> str:
    """Replace names in braces by their values; leave other braces unchanged."""
    for name, value in environment.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def require_platform(app: App, platform: str, device: Device) -> None:
    """Refuse an app for another platform than that of a device.

    Raises:
        Unsupported: The app is for another one.
    """
    if app.platform not in {None, platform}:
        raise Unsupported(f"{app.id} is an app for {app.platform}, and {device.name} runs apps for {platform}")

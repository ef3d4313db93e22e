"""Apps on a simulated phone: programs that run when Android would start the app."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pytest_devperf.simphone.isolation.command import RunningCommand
from pytest_devperf.simphone.isolation.sandbox import Sandbox

LOG_LINES = 5000
"""Lines kept of the log; a phone's own ring buffer contains some thousands."""


class Apps:
    """Installs, runs and stops apps, and collects their output.

    Args:
        sandbox: Where apps run.
        began: Called when a process begins.
        ended: Called when a process has ended.
    """

    def __init__(
        self, sandbox: Sandbox, began: Callable[[RunningCommand], None], ended: Callable[[RunningCommand], None]
    ) -> None:
        self.log: tuple[str, ...] = ()
        """What apps printed, in the format of the log."""
        self._programs: dict[str, tuple[str, ...]] = {}
        self._running: dict[str, list[RunningCommand]] = {}
        self._sandbox = sandbox
        self._began = began
        self._ended = ended

    def install(self, app: str, program: Sequence[str], files: Sequence[Path]) -> None:
        """Install an app: a program with arguments, and further files in the same folder."""
        self._programs[app] = tuple(self._sandbox.install(app, program, files))

    @property
    def processes(self) -> dict[str, tuple[int, ...]]:
        """Installed apps, each with the process ids of its running processes."""
        return {app: tuple(command.pid for command in self._running.get(app, ())) for app in self._programs}

    def stop(self, app: str) -> None:
        """Stop an app, as `am force-stop` does."""
        for command in self._running.pop(app, []):
            command.kill(signal.SIGKILL)

    async def run(self, app: str, extras: Mapping[str, str]) -> None:
        """Run an app until it ends, with its extras in the environment; its output goes to the log."""
        words = self._programs[app]
        program, needed = self._sandbox.interpreter
        command, (output,) = await RunningCommand.start(
            self._sandbox.system,
            words,
            environment={**self._sandbox.environment(), **(needed if words[0] == program else {}), **extras},
            cwd=self._sandbox.place("/"),
            joined=True,
        )
        self._running.setdefault(app, []).append(command)
        self._began(command)
        try:
            while line := await output.readline():
                self.log = (*self.log, f"I {app}: {os.fsdecode(line).rstrip()}")[-LOG_LINES:]
            await command.wait()
        except (asyncio.LimitOverrunError, ValueError):
            self.log = (*self.log, f"E {app}: printed a line too long for the log")
        finally:
            command.close()
            self._ended(command)
            if command in self._running.get(app, []):
                self._running[app].remove(command)

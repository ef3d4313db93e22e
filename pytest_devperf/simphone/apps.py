"""Apps on a simulated phone: programs that run when Android would start the app."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pytest_devperf.simphone.command import Command
from pytest_devperf.simphone.sandbox import Sandbox

LOG_LINES = 5000
"""Lines kept of the log; a phone's own ring holds some thousands."""


class Apps:
    """What is installed, what of it runs, and what it printed.

    Args:
        sandbox: Where apps run.
        began: Told of every process as it begins.
        ended: Told when it has ended.
    """

    def __init__(self, sandbox: Sandbox, began: Callable[[Command], None], ended: Callable[[Command], None]) -> None:
        self.log: tuple[str, ...] = ()
        """What apps printed, as the log shows it."""
        self._programs: dict[str, tuple[str, ...]] = {}
        self._running: dict[str, list[Command]] = {}
        self._sandbox = sandbox
        self._began = began
        self._ended = ended

    def install(self, app: str, program: Sequence[str], files: Sequence[Path]) -> None:
        """Install an app: a program and its arguments, and the files that lie beside it."""
        self._programs[app] = tuple(self._sandbox.install(app, program, files))

    @property
    def processes(self) -> dict[str, tuple[int, ...]]:
        """Installed apps, each with the process ids under which it runs."""
        return {app: tuple(command.pid for command in self._running.get(app, ())) for app in self._programs}

    def stop(self, app: str) -> None:
        """End an app, as `am force-stop` does."""
        for command in self._running.pop(app, []):
            command.kill(signal.SIGKILL)

    async def run(self, app: str, extras: Mapping[str, str]) -> None:
        """Run an app to its end; its extras are in its environment, and what it prints goes to the log."""
        words = self._programs[app]
        program, needed = self._sandbox.interpreter
        command, (output,) = await Command.start(
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

"""Start fresh interpreters that run the same cases again.

The command line is the parent's to the letter: node ids, rootdir and plugins depend on it. What to run
is written to a file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pytest_devperf.session.launch.handover import HANDOVER_VERSION, Handover, Surroundings, Turns, WantedCase
from pytest_devperf.session.launch.origin import ENVIRONMENT, HANDOVER_VARIABLE, PROCESS_VARIABLE, SYS_PATH
from pytest_devperf.session.launch.relocation import Relocation
from pytest_devperf.session.starts.start import Role

LAUNCH = """\
import json, os, sys
with open(os.environ["PYTEST_DEVPERF_HANDOVER"], encoding="ascii") as file:
    handover = json.load(file)
if handover["sys_path"] is None:
    sys.path[:] = handover["lead"] + [place for place in sys.path if place]
else:
    sys.path[:] = handover["sys_path"]
import pytest
sys.exit(pytest.main(handover["args"], plugins=handover["plugins"]))
"""
"""Not `-m pytest`: that would put the working directory on `sys.path`, which the `pytest` script does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """An interpreter with what is installed for it."""

    program: str = sys.executable
    own_path: bool = False
    """Whether it imports from its own places, not from this process's."""
    programs: Path | None = None
    """Folder of programs that come before all others on `PATH`; None: none."""
    relocation: Relocation | None = None
    """Where the files lie that workloads name; None: where the test says."""


HERE = Environment()
"""The environment of this process."""

GRACE_S = 3.0
"""Longest time an interpreter may take to exit after it was told to."""


class Terminated(BaseException):
    """This process was asked to end while another interpreter measured."""

    def __init__(self, number: int) -> None:
        """Keep the number of the signal."""
        super().__init__(f"ended by signal {number}")
        self.number = number


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """How a session was started, so that fresh interpreters can be started alike."""

    args: tuple[str, ...]
    folder: Path
    """The working directory."""
    plugins: tuple[str, ...] = ()
    """Modules that were given as plugins beside the arguments."""
    randomly_seed: int | None = None
    """The seed that pytest-randomly gives every test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What one fresh interpreter, or a pair of them, is to do."""

    command_line: CommandLine
    surroundings: Surroundings
    wanted: Sequence[WantedCase]
    process: int
    """Zero-based index of this process start."""
    role: Role
    seed: int
    """Of the order of cases."""
    on_event: Callable[[Mapping[str, Any]], None]
    """Called with every event, as it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The instructions of one fresh interpreter, and the file for its results."""

    assignment: Assignment
    folder: Path
    """A folder of its own."""
    environment: Environment = HERE

    @property
    def events(self) -> Path:
        """File that its events are written to, a JSON line each."""
        return self.folder / "events.jsonl"

    @property
    def output(self) -> str:
        """What it printed."""
        return (self.folder / "output.txt").read_text(encoding="utf-8", errors="replace")

    def hand_over(self, turns: Turns | None = None) -> None:
        """Write down what it shall do; if it measures in turns, where it asks for its turn."""
        told = self.assignment
        handover = Handover(
            version=HANDOVER_VERSION,
            parent_pid=os.getpid(),
            args=list(told.command_line.args),
            plugins=list(told.command_line.plugins),
            sys_path=None if self.environment.own_path else list(SYS_PATH),
            lead=self._lead(),
            output=str(self.events),
            basetemp=str(self.folder / "basetemp"),
            process=told.process,
            role=told.role,
            shuffle_seed=told.seed,
            randomly_seed=told.command_line.randomly_seed,
            surroundings=told.surroundings,
            turns=turns,
            relocation=self.environment.relocation,
            wanted=list(told.wanted),
        )
        plain = json.dumps(msgspec.to_builtins(handover), default=str)
        (self.folder / "handover.json").write_text(plain, encoding="ascii")
        self.events.touch()

    def _lead(self) -> list[str]:
        """The working directory, where this process imports from it (`python -m pytest`); a script does not."""
        here = os.path.realpath(self.assignment.command_line.folder)
        first = SYS_PATH[0] if SYS_PATH else None
        return [str(here)] if first is not None and os.path.realpath(first or here) == here else []

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start it."""
        environment = {
            **ENVIRONMENT,
            HANDOVER_VARIABLE: str(self.folder / "handover.json"),
            PROCESS_VARIABLE: str(self.assignment.process),
        }
        # A fixed hash seed would measure one layout of every dictionary over and over.
        for name in ("PYTEST_CURRENT_TEST", "PYTHONHASHSEED"):
            environment.pop(name, None)
        if self.environment.own_path:
            environment.pop("PYTHONHOME", None)
        if self.environment.programs is not None:
            environment["PATH"] = os.pathsep.join([str(self.environment.programs), environment.get("PATH", os.defpath)])
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing does
        with (self.folder / "output.txt").open("wb") as file:
            return subprocess.Popen(
                [self.environment.program, *flags, "-c", LAUNCH],
                cwd=self.assignment.command_line.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def end(interpreter: subprocess.Popen[bytes]) -> None:
    """End an interpreter and the processes that it started."""
    if interpreter.poll() is not None:
        return
    _signal_group(interpreter, signal.SIGTERM)
    try:
        interpreter.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        _signal_group(interpreter, getattr(signal, "SIGKILL", signal.SIGTERM))
        interpreter.wait()


def _signal_group(interpreter: subprocess.Popen[bytes], number: int) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(interpreter.pid, number)
    else:
        interpreter.terminate()


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM into an end of the session, so that the interpreter is ended too."""

    def stop(number: int, _frame: object) -> None:
        raise Terminated(number)

    try:
        default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        before = signal.signal(signal.SIGTERM, stop) if default else None
    except ValueError:  # not the main thread: signals are somebody else's
        before = None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)

"""Start fresh interpreters that run the same cases again.

Their command line is exactly the parent's, because node ids, rootdir and plugins depend on it. The cases to run are
written to a file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pytest_devperf.session.launch.handover import HANDOVER_VERSION, Handover, Surroundings, WantedCase
from pytest_devperf.session.launch.origin import ENVIRONMENT, HANDOVER_VARIABLE, PROCESS_VARIABLE, SYS_PATH
from pytest_devperf.session.launch.relocation import Relocation
from pytest_devperf.session.launch.turn_client import Turns
from pytest_devperf.session.launch.under_valgrind import UnderValgrind
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
    """An interpreter and its installed packages."""

    program: str = sys.executable
    own_path: bool = False
    """Whether it uses its own import path, not this process's."""
    programs: Path | None = None
    """Folder of programs that precedes all others on `PATH`; None: none."""
    relocation: Relocation | None = None
    """The folder of the files that workloads name; None: as the test names them."""
    lead: tuple[str, ...] = ()
    """Words that stand before the program: valgrind and its options."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that are set for it."""
    valgrind: UnderValgrind | None = None
    """What it has to know of the valgrind that runs it."""


HERE = Environment()
"""The environment of this process."""

GRACE_S = 3.0
"""Longest wait for an interpreter to exit after it was asked to."""


class Terminated(BaseException):
    """This process received SIGTERM while another interpreter measured."""

    def __init__(self, number: int) -> None:
        """Keep the number of the signal."""
        super().__init__(f"ended by signal {number}")
        self.number = number


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """How a session was started, so that fresh interpreters can be started in the same way."""

    args: tuple[str, ...]
    folder: Path
    """The working directory."""
    plugins: tuple[str, ...] = ()
    """Modules that were passed as plugins beside the arguments."""
    randomly_seed: int | None = None
    """The seed that pytest-randomly gives every test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The work of one fresh interpreter, or of a pair."""

    command_line: CommandLine
    surroundings: Surroundings
    wanted: Sequence[WantedCase]
    process: int
    """Zero-based index of this process start."""
    role: Role
    seed: int
    """Seed for the order of cases."""
    on_event: Callable[[Mapping[str, Any]], None]
    """Called with every event, as it is read."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Added to its environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The instructions of one fresh interpreter, and the file for its results."""

    assignment: Assignment
    folder: Path
    """A separate folder for it."""
    environment: Environment = HERE

    @property
    def events(self) -> Path:
        """File for its events, one line of JSON each."""
        return self.folder / "events.jsonl"

    @property
    def output(self) -> str:
        """Its output."""
        return (self.folder / "output.txt").read_text(encoding="utf-8", errors="replace")

    def hand_over(self, turns: Turns | None = None) -> None:
        """Write its instructions; if it measures in turns, with the address at which it requests its turn."""
        assignment = self.assignment
        handover = Handover(
            version=HANDOVER_VERSION,
            parent_pid=os.getpid(),
            args=list(assignment.command_line.args),
            plugins=list(assignment.command_line.plugins),
            sys_path=None if self.environment.own_path else list(SYS_PATH),
            lead=self._lead(),
            output=str(self.events),
            basetemp=str(self.folder / "basetemp"),
            process=assignment.process,
            role=assignment.role,
            shuffle_seed=assignment.seed,
            randomly_seed=assignment.command_line.randomly_seed,
            surroundings=assignment.surroundings,
            turns=turns,
            relocation=self.environment.relocation,
            valgrind=self.environment.valgrind,
            wanted=list(assignment.wanted),
        )
        plain = json.dumps(msgspec.to_builtins(handover), default=str)
        (self.folder / "handover.json").write_text(plain, encoding="ascii")
        self.events.touch()

    def _lead(self) -> list[str]:
        """Return the working directory if this process imports from it (`python -m pytest`); a script does not."""
        here = os.path.realpath(self.assignment.command_line.folder)
        first = SYS_PATH[0] if SYS_PATH else None
        return [str(here)] if first is not None and os.path.realpath(first or here) == here else []

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the interpreter."""
        environment = {
            **ENVIRONMENT,
            HANDOVER_VARIABLE: str(self.folder / "handover.json"),
            PROCESS_VARIABLE: str(self.assignment.process),
        }
        # A fixed hash seed would measure the same layout of every dictionary each time.
        for name in ("PYTEST_CURRENT_TEST", "PYTHONHASHSEED"):
            environment.pop(name, None)
        environment.update(self.environment.variables)
        if self.environment.own_path:
            environment.pop("PYTHONHOME", None)
        if self.environment.programs is not None:
            environment["PATH"] = os.pathsep.join([str(self.environment.programs), environment.get("PATH", os.defpath)])
        environment.update(self.assignment.variables)
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001 - as multiprocessing does
        with (self.folder / "output.txt").open("wb") as file:
            return subprocess.Popen(
                [*self.environment.lead, self.environment.program, *flags, "-c", LAUNCH],
                cwd=self.assignment.command_line.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def end(interpreter: subprocess.Popen[bytes]) -> None:
    """End an interpreter and the processes it started."""
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
def undisturbed() -> Iterator[None]:
    """Handle SIGINT and SIGTERM only after the block: an exception within `Popen` leaves behind what it has started."""
    arrived: list[int] = []
    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):  # what is ignored stays so, also in what the block starts
                before[number] = signal.signal(number, lambda number, _: arrived.append(number))
    except ValueError:  # not the main thread: no signal is handled in it
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for each in arrived:
            signal.raise_signal(each)


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that the interpreter is ended too."""

    def stop(number: int, _frame: object) -> None:
        raise Terminated(number)

    try:
        default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        before = signal.signal(signal.SIGTERM, stop) if default else None
    except ValueError:  # not the main thread: other code handles signals
        before = None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)

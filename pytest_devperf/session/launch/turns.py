"""Let two interpreters measure in turns: only one runs at a time, the other waits without using a CPU.

Each requests its turn before a case and after every round. The first round of a metric only prepares the code and is
not kept, so that the rounds of a pair are close together in time.
"""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from pytest_devperf.compare.in_turns.pairs import turns
from pytest_devperf.session.launch.follow import POLL_S, WorkerResult, new_events, take_event
from pytest_devperf.session.launch.interpreter import HERE, Assignment, Environment, Job, end, terminable
from pytest_devperf.session.launch.lobby import Lobby
from pytest_devperf.session.launch.turn_client import Side, Turns

OLD: Side = "old"
NEW: Side = "new"

SIDES: Mapping[str, Side] = {"A": OLD, "B": NEW}
"""The side of each letter of an order."""

LOOPBACK = "127.0.0.1"

SECRET_BYTES = 16


@dataclass(slots=True, kw_only=True)
class Pair:
    """The results of a pair of process starts, by the index of the entry."""

    found: dict[str, dict[int, WorkerResult]]
    """By side."""
    crashed: frozenset[str] = frozenset()
    """Sides whose interpreter ended before its last case; the other one was also ended, after its case."""
    modules: tuple[str, ...] = ()
    """Modules that the old side imported from the checkout."""
    of_revision: bool = False
    """Whether the old side imported any module of the revision."""


@dataclass(slots=True)
class _Side:
    """The interpreter of one side, seen from the session."""

    side: str
    job: Job
    process: subprocess.Popen[bytes]
    found: dict[int, WorkerResult]
    events: BinaryIO
    at: tuple[str, int] | None = None
    """The point at which it waits for its turn; None: it has ended."""
    speaks: socket.socket | None = None
    """Its connection; None until it has introduced itself."""
    through: bool = False
    """Whether it reported that nothing is left to run."""
    modules: tuple[str, ...] = ()
    of_revision: bool = False
    heard: bytearray = field(default_factory=bytearray)


def run_pair(assignment: Assignment, *, pair: int, old: Environment, new: Environment = HERE) -> Pair:
    """Run cases in an interpreter of the old code and one of the new, round by round in turns.

    Args:
        assignment: The cases, in the order in which both sides run them; only events of the new side are passed on.
        pair: Zero-based number of the pair; it decides the order of turns.
        old: The environment with the old code.
        new: The environment of the new code.
    """
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server((LOOPBACK, 0)))
        secret = secrets.token_hex(SECRET_BYTES)
        lobby = stack.enter_context(Lobby(server, secret))
        stack.enter_context(terminable())
        sides: dict[str, _Side] = {}
        environments: dict[Side, Environment] = {OLD: old, NEW: new}
        for side, environment in environments.items():
            turns_of_side = Turns(host=LOOPBACK, port=server.getsockname()[1], secret=secret, side=side)
            sides[side] = _start_side(stack, assignment, environment, turns_of_side)
        TurnCoordinator(sides, lobby, assignment).play(turns(pair))
        crashed = frozenset(side for side, each in sides.items() if not each.through)
        for each in sides.values():
            if crashed:
                end(each.process)
            each.process.wait()
            _read_events(each, assignment.on_event)
        _keep_last_output(sides)
        return Pair(
            found={side: each.found for side, each in sides.items()},
            crashed=crashed,
            modules=sides[OLD].modules,
            of_revision=sides[OLD].of_revision,
        )


def _start_side(stack: ExitStack, assignment: Assignment, environment: Environment, address: Turns) -> _Side:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="devperf-", ignore_cleanup_errors=True))
    job = Job(assignment=assignment, folder=Path(folder), environment=environment)
    job.hand_over(address)
    process = job.spawn()
    stack.callback(end, process)
    found = {each.index: WorkerResult() for each in assignment.wanted}
    return _Side(address.side, job, process, found, stack.enter_context(job.events.open("rb")))


class TurnCoordinator:
    """Gives the sides their turns."""

    def __init__(self, sides: Mapping[str, _Side], lobby: Lobby, assignment: Assignment) -> None:
        self._sides = sides
        self._lobby = lobby
        self._on_event = assignment.on_event
        self._place = {each.index: place for place, each in enumerate(assignment.wanted)}

    def play(self, order: str) -> None:
        """Let both sides run until they end; rounds of the same case alternate in this order."""
        self._meet()
        old, new = self._sides[OLD], self._sides[NEW]
        first, second = (old, new) if order[0] == "A" else (new, old)
        while old.at is not None or new.at is not None:
            if self._is_over():
                return
            if old.at == new.at and old.at is not None and old.at[0] == "round":
                here = old.at
                for letter in order:
                    interpreter = self._sides[SIDES[letter]]
                    if interpreter.at == here:
                        self._go(interpreter)
            if old.at == new.at:
                self._go(first)
                self._go(second)
            else:
                self._go(min((old, new), key=self._behind))

    def _is_over(self) -> bool:
        """Whether one side has crashed and the other has finished its case: no pairs can follow."""
        interpreters = self._sides.values()
        crashed = any(interpreter.at is None and not interpreter.through for interpreter in interpreters)
        return crashed and all(interpreter.at is None or interpreter.at[0] == "case" for interpreter in interpreters)

    def _behind(self, interpreter: _Side) -> tuple[int, int]:
        """Return a sort key for the progress of a side, so that the one behind catches up."""
        if interpreter.at is None:
            return len(self._place), 0
        return self._place[interpreter.at[1]], 0 if interpreter.at[0] == "case" else 1

    def _meet(self) -> None:
        """Wait until both sides have introduced themselves, or ended before that."""
        waiting = set(self._sides)
        while waiting:
            arrival = self._lobby.next(POLL_S)
            if arrival is None:
                waiting = {side for side in waiting if self._sides[side].process.poll() is None}
                continue
            if arrival.side not in waiting:
                arrival.connection.close()
                continue
            interpreter = self._sides[arrival.side]
            arrival.connection.settimeout(POLL_S)
            interpreter.speaks, interpreter.heard = arrival.connection, bytearray(arrival.heard)
            waiting.discard(arrival.side)
        for interpreter in self._sides.values():
            self._follow(interpreter)

    def _go(self, interpreter: _Side) -> None:
        """Give a side its turn, and wait until it requests the next one."""
        if interpreter.at is None or interpreter.speaks is None:
            return
        try:
            interpreter.speaks.sendall(b"go\n")
        except OSError:
            interpreter.at = None
            return
        self._follow(interpreter)

    def _follow(self, interpreter: _Side) -> None:
        message = self._hear(interpreter)
        _read_events(interpreter, self._on_event)
        if message is None or message["at"] == "end":
            interpreter.at = None
            interpreter.through = message is not None
            if message is not None:
                interpreter.modules, interpreter.of_revision = tuple(message["modules"]), message["of_revision"]
        else:
            interpreter.at = (message["at"], message["index"])

    def _hear(self, interpreter: _Side) -> dict[str, Any] | None:
        """Read a side's next message; return None if it has ended."""
        while interpreter.speaks is not None:
            line, separator, rest = bytes(interpreter.heard).partition(b"\n")
            if separator:
                interpreter.heard = bytearray(rest)
                message: dict[str, Any] = json.loads(line)
                return message
            try:
                part = interpreter.speaks.recv(65536)
            except TimeoutError:
                # A child of the test may hold the connection open beyond the interpreter's death.
                if interpreter.process.poll() is not None:
                    return None
                continue
            except OSError:
                return None
            if not part:
                return None
            interpreter.heard += part
        return None


def _read_events(interpreter: _Side, on_event: Callable[[Mapping[str, Any]], None]) -> None:
    for event in new_events(interpreter.events):
        take_event(event, interpreter.found)
        if interpreter.side == NEW:
            on_event(event)


def _keep_last_output(interpreters: Mapping[str, _Side]) -> None:
    """Keep the last words of an interpreter that did not finish its cases."""
    for interpreter in interpreters.values():
        for found in interpreter.found.values():
            if not found.settled:
                found.died = interpreter.job.output

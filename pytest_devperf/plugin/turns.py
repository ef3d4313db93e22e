"""Two interpreters that measure in turns: only one of them ever runs, the other waits without using a CPU.

Each asks for its turn before a case and after every round. The first round of a metric is taken to get
ready and is not kept, so that what is paired lies close together in time.
"""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pytest_devperf.compare.paired import turns
from pytest_devperf.plugin.fresh import HERE, Environment, Found, Job, end, new_events, note, settled, terminable
from pytest_devperf.plugin.lobby import Lobby
from pytest_devperf.plugin.start import Side, Turns

if TYPE_CHECKING:
    import pytest

    from pytest_devperf.plugin.ledger import Entry

OLD: Side = "old"
NEW: Side = "new"

SIDES: Mapping[str, Side] = {"A": OLD, "B": NEW}
"""Whose round each letter of an order is."""

HOST = "127.0.0.1"

POLL_S = 0.5
"""How often it is looked whether a waited-for interpreter still lives."""

SECRET_BYTES = 16


class TurnClient:
    """The measuring interpreter's end: asks for its turn and waits for it."""

    def __init__(self, told: Turns) -> None:
        # Connected before any test runs: some suites forbid themselves sockets.
        self._socket = socket.create_connection((told.host, told.port))
        self._answers = self._socket.makefile("rb")
        self._say({"secret": told.secret, "side": told.side})

    def wait(self, at: str, index: int) -> None:
        """Ask for the turn before a `case` or after a `round` of it, and wait for it."""
        self._say({"at": at, "index": index})
        self._answers.readline()

    def leave(self, modules: Sequence[str]) -> None:
        """Say that nothing is left to run, and what was imported from the checkout."""
        self._say({"at": "end", "modules": list(modules)})

    def _say(self, message: Mapping[str, Any]) -> None:
        self._socket.sendall(json.dumps(message).encode("ascii") + b"\n")


@dataclass(slots=True, kw_only=True)
class Pair:
    """What a pair of process starts found, by the index of the entry."""

    found: dict[str, dict[int, Found]]
    """By side."""
    crashed: frozenset[str] = frozenset()
    """Sides whose interpreter ended before it was through; the other one was ended, too, after its case."""
    modules: tuple[str, ...] = ()
    """Modules that the old side imported from the checkout."""


@dataclass(slots=True)
class _Interpreter:
    """One side's interpreter, as it is seen from here."""

    side: str
    job: Job
    process: subprocess.Popen[bytes]
    found: dict[int, Found]
    events: BinaryIO
    at: tuple[str, int] | None = None
    """Where it waits for its turn; None: it has ended."""
    speaks: socket.socket | None = None
    """Its connection; None until it has introduced itself."""
    through: bool = False
    """Whether it said that nothing is left."""
    modules: tuple[str, ...] = ()
    heard: bytearray = field(default_factory=bytearray)


def run_pair(
    config: pytest.Config,
    entries: Sequence[Entry],
    *,
    pair: int,
    old: Environment,
    on_event: Callable[[Mapping[str, Any]], None],
) -> Pair:
    """Run cases in an interpreter of the old code and one of the new, round by round in turns.

    Args:
        config: pytest's configuration in this process.
        entries: The cases, in the order in which both run them.
        pair: Zero-based number of the pair; it decides the order of turns.
        old: The environment that holds the old code.
        on_event: Hears of the new side's events.
    """
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server((HOST, 0)))
        secret = secrets.token_hex(SECRET_BYTES)
        lobby = stack.enter_context(Lobby(server, secret))
        stack.enter_context(terminable())
        interpreters: dict[str, _Interpreter] = {}
        environments: dict[Side, Environment] = {OLD: old, NEW: HERE}
        for side, environment in environments.items():
            folder = tempfile.TemporaryDirectory(prefix="devperf-", ignore_cleanup_errors=True)
            job = Job(config=config, folder=Path(stack.enter_context(folder)), environment=environment)
            told = Turns(host=HOST, port=server.getsockname()[1], secret=secret, side=side)
            # The order is the same on both sides, so no seed shuffles it.
            job.hand_over(entries, process=pair + 1, role="rounds", seed=0, turns=told)
            process = job.spawn(pair + 1)
            stack.callback(end, process)
            found = {entry.index: Found() for entry in entries}
            interpreters[side] = _Interpreter(side, job, process, found, stack.enter_context(job.events.open("rb")))
        coordinator = _Coordinator(interpreters, lobby, on_event, [entry.index for entry in entries])
        coordinator.play(turns(pair))
        crashed = frozenset(side for side, interpreter in interpreters.items() if not interpreter.through)
        for interpreter in interpreters.values():
            if crashed:
                end(interpreter.process)
            interpreter.process.wait()
            _read_events(interpreter, on_event)
        _bury(interpreters)
        return Pair(
            found={side: interpreter.found for side, interpreter in interpreters.items()},
            crashed=crashed,
            modules=interpreters[OLD].modules,
        )


class _Coordinator:
    """The rule of turns."""

    def __init__(
        self,
        interpreters: Mapping[str, _Interpreter],
        lobby: Lobby,
        on_event: Callable[[Mapping[str, Any]], None],
        order: Sequence[int],
    ) -> None:
        self._sides = interpreters
        self._lobby = lobby
        self._on_event = on_event
        self._place = {index: place for place, index in enumerate(order)}

    def play(self, order: str) -> None:
        """Let both sides run to their end; rounds of the same case alternate in this order."""
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
        """Whether one side has crashed and the other is through with its case: nothing is left to be paired."""
        interpreters = self._sides.values()
        crashed = any(interpreter.at is None and not interpreter.through for interpreter in interpreters)
        return crashed and all(interpreter.at is None or interpreter.at[0] == "case" for interpreter in interpreters)

    def _behind(self, interpreter: _Interpreter) -> tuple[int, int]:
        """Sort by how far a side has come, so that the one behind catches up."""
        if interpreter.at is None:
            return len(self._place), 0
        return self._place[interpreter.at[1]], 0 if interpreter.at[0] == "case" else 1

    def _meet(self) -> None:
        """Wait until both sides have introduced themselves, or ended without it."""
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

    def _go(self, interpreter: _Interpreter) -> None:
        """Give a side its turn, and wait until it asks for the next."""
        if interpreter.at is None or interpreter.speaks is None:
            return
        try:
            interpreter.speaks.sendall(b"go\n")
        except OSError:
            interpreter.at = None
            return
        self._follow(interpreter)

    def _follow(self, interpreter: _Interpreter) -> None:
        message = self._hear(interpreter)
        _read_events(interpreter, self._on_event)
        if message is None or message["at"] == "end":
            interpreter.at = None
            interpreter.through = message is not None
            interpreter.modules = tuple(message["modules"]) if message is not None else ()
        else:
            interpreter.at = (message["at"], message["index"])

    def _hear(self, interpreter: _Interpreter) -> dict[str, Any] | None:
        """Read a side's next message; None where it has ended."""
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


def _read_events(interpreter: _Interpreter, on_event: Callable[[Mapping[str, Any]], None]) -> None:
    for event in new_events(interpreter.events):
        note(event, interpreter.found)
        if interpreter.side == NEW:
            on_event(event)


def _bury(interpreters: Mapping[str, _Interpreter]) -> None:
    """Keep the last words of an interpreter that did not finish its cases."""
    for interpreter in interpreters.values():
        for found in interpreter.found.values():
            if not settled(found):
                found.died = interpreter.job.output

"""Accept connections of the two interpreters of a pair, and refuse those of any other program.

Any local program can connect to a port. One that sends nothing, garbage, or single bytes delays nobody.
"""

from __future__ import annotations

import hmac
import selectors
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import final

from pytest_devperf.untrusted import parse_json

HELLO_S = 30.0
"""Longest wait for the introduction of a program that has connected: an interpreter sends it at once, but a busy
machine may interrupt it.
"""

MOST_HELLO_BYTES = 1024
"""Longest introduction: a secret and a side take 70 bytes."""

MOST_CALLERS = 32
"""Connections without an introduction that are kept at once; two are expected. The oldest is closed for a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """An interpreter that has introduced itself."""

    side: str
    connection: socket.socket
    heard: bytes
    """Bytes received after its introduction."""


@dataclass(slots=True)
class _Caller:
    """A program that has connected and has not introduced itself yet."""

    connection: socket.socket
    until_s: float
    heard: bytearray = field(default_factory=bytearray)


@final
class Lobby:
    """Accepts connections until a program sends the secret; a `with` block closes the others.

    Args:
        server: The listening socket.
        secret: The secret that the expected interpreters know.
    """

    def __init__(self, server: socket.socket, secret: str) -> None:
        server.settimeout(0)  # a program may disconnect before it is accepted
        self._server = server
        self._secret = secret
        self._callers: dict[socket.socket, _Caller] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(server, selectors.EVENT_READ)

    def __enter__(self) -> Lobby:
        """Return the lobby, which is listening."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections without an introduction."""
        for connection in list(self._callers):
            self._dismiss(connection)
        self._selector.close()

    def next(self, timeout_s: float) -> Arrival | None:
        """Wait for an interpreter that introduces itself; None if none did in this time."""
        until_s = time.monotonic() + timeout_s
        while (left_s := until_s - time.monotonic()) > 0:
            for key, _ in self._selector.select(left_s):
                if key.fileobj is self._server:
                    self._accept()
                    continue
                arrival = self._listen(self._callers[key.fileobj])  # type: ignore[index] # a socket, as registered
                if arrival is not None:
                    return arrival
            self._dismiss_the_silent()
        return None

    def _accept(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:
            return
        connection.settimeout(0)
        self._callers[connection] = _Caller(connection, time.monotonic() + HELLO_S)
        self._selector.register(connection, selectors.EVENT_READ)
        if len(self._callers) > MOST_CALLERS:
            self._dismiss(next(iter(self._callers)))

    def _listen(self, caller: _Caller) -> Arrival | None:
        try:
            part = caller.connection.recv(MOST_HELLO_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            part = b""
        caller.heard += part
        line, complete, rest = bytes(caller.heard).partition(b"\n")
        side = self._side(line) if complete else None
        if side is not None:
            self._forget(caller.connection)
            return Arrival(side=side, connection=caller.connection, heard=rest)
        if complete or not part or len(caller.heard) > MOST_HELLO_BYTES:
            self._dismiss(caller.connection)
        return None

    def _side(self, line: bytes) -> str | None:
        """Parse an introduction; None if it lacks the secret."""
        try:
            introduction = parse_json(line)
        except ValueError:
            return None
        if not isinstance(introduction, dict) or not isinstance(introduction.get("side"), str):
            return None
        known = hmac.compare_digest(str(introduction.get("secret")).encode("utf-8", "replace"), self._secret.encode())
        return introduction["side"] if known else None

    def _dismiss_the_silent(self) -> None:
        now_s = time.monotonic()
        for connection in [each.connection for each in self._callers.values() if each.until_s <= now_s]:
            self._dismiss(connection)

    def _dismiss(self, connection: socket.socket) -> None:
        self._forget(connection)
        with suppress(OSError):
            connection.close()

    def _forget(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._callers[connection]

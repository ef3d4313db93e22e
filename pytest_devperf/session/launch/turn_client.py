"""The side of the measuring interpreter in a pair: requests its turn and waits for it."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Side = Literal["old", "new"]
"""The code that an interpreter runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """The address at which an interpreter of a pair requests its turn."""

    host: str
    port: int
    secret: str
    """Distinguishes this interpreter from other programs on this machine."""
    side: Side


class TurnClient:
    """Asks for this interpreter's turn and waits for it."""

    def __init__(self, address: Turns) -> None:
        # Connected before any test runs: some test suites forbid sockets.
        self._socket = socket.create_connection((address.host, address.port))
        self._answers = self._socket.makefile("rb")
        self._send({"secret": address.secret, "side": address.side})

    def wait(self, at: str, index: int) -> None:
        """Request the turn before a `case` or after a `round` of it, and wait for it."""
        self._send({"at": at, "index": index})
        self._answers.readline()

    def leave(self, modules: Sequence[str], *, of_revision: bool) -> None:
        """Report that nothing is left to run, and the imported modules.

        Args:
            modules: Modules of the checkout.
            of_revision: Whether any module of the revision was imported.
        """
        self._send({"at": "end", "modules": list(modules), "of_revision": of_revision})

    def _send(self, message: Mapping[str, Any]) -> None:
        self._socket.sendall(json.dumps(message).encode("ascii") + b"\n")

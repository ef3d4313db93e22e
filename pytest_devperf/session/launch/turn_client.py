"""The measuring interpreter's end of a pair: requests its turn and waits for it."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_devperf.session.launch.handover import Turns


class TurnClient:
    """Asks for this interpreter's turn and waits for it."""

    def __init__(self, told: Turns) -> None:
        # Connected before any test runs: some suites forbid themselves sockets.
        self._socket = socket.create_connection((told.host, told.port))
        self._answers = self._socket.makefile("rb")
        self._say({"secret": told.secret, "side": told.side})

    def wait(self, at: str, index: int) -> None:
        """Ask for the turn before a `case` or after a `round` of it, and wait for it."""
        self._say({"at": at, "index": index})
        self._answers.readline()

    def leave(self, modules: Sequence[str], *, of_revision: bool) -> None:
        """Say that nothing is left to run, and what was imported.

        Args:
            modules: Modules of the checkout.
            of_revision: Whether any module of the revision was imported.
        """
        self._say({"at": "end", "modules": list(modules), "of_revision": of_revision})

    def _say(self, message: Mapping[str, Any]) -> None:
        self._socket.sendall(json.dumps(message).encode("ascii") + b"\n")

"""The conversation between a session and a phone's first process: lines of JSON, with open files beside them."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Sequence
from typing import Any

MOST_FILES = 16
"""Open files that one read takes at most: those of a few messages, each with three at most."""

Message = dict[str, Any]


class Link:
    """One end of the conversation."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._text = bytearray()
        self._files: list[int] = []

    def send(self, message: Message, files: Sequence[int] = ()) -> None:
        """Send one message; the other side needs none if it is gone."""
        line = json.dumps({**message, "files": len(files)}).encode() + b"\n"
        with contextlib.suppress(OSError):
            sent = socket.send_fds(self.connection, [line], files) if files else 0
            self.connection.sendall(line[sent:])

    def read(self) -> tuple[Message | None, list[int]]:
        """Wait for the next message and its files; None at the end."""
        while (taken := self.take()) is None:
            if not self.receive():
                return None, []
        return taken

    def take(self) -> tuple[Message, list[int]] | None:
        """Take the next message out of what was received; None while it is not whole."""
        line, end, rest = self._text.partition(b"\n")
        if not end:
            return None
        self._text = rest
        message: Message = json.loads(line)
        count = message.pop("files")
        files, self._files = self._files[:count], self._files[count:]
        return message, files

    def receive(self) -> bool:
        """Receive what has come; False at the end."""
        try:
            data, files, _flags, _from = socket.recv_fds(self.connection, 1 << 16, MOST_FILES)
        except OSError:
            return False
        for file in files:
            os.set_inheritable(file, False)  # noqa: FBT003 - the system's own name for it
        self._files += files
        self._text += data
        return bool(data)

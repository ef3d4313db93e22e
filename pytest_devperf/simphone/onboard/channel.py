"""The channel between a session and a phone's first process: lines of JSON, with open files attached."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Sequence
from typing import Any

MOST_FILES = 16
"""Most open files that one read accepts: those of a few messages, with at most three each."""

Message = dict[str, Any]


class Channel:
    """One end of the channel."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._text = bytearray()
        self._files: list[int] = []

    def send(self, message: Message, files: Sequence[int] = ()) -> None:
        """Send one message; an error is ignored if the other side has exited."""
        line = json.dumps({**message, "files": len(files)}).encode() + b"\n"
        with contextlib.suppress(OSError):
            sent = socket.send_fds(self.connection, [line], files) if files else 0
            self.connection.sendall(line[sent:])

    def read(self) -> tuple[Message | None, list[int]]:
        """Wait for the next message with its files; return None at the end."""
        while (taken := self.take()) is None:
            if not self.receive():
                return None, []
        return taken

    def take(self) -> tuple[Message, list[int]] | None:
        """Return the next complete message from the buffer; None if there is none."""
        line, end, rest = self._text.partition(b"\n")
        if not end:
            return None
        self._text = rest
        message: Message = json.loads(line)
        count = message.pop("files")
        files, self._files = self._files[:count], self._files[count:]
        return message, files

    def receive(self) -> bool:
        """Receive available data into the buffer; return False at the end."""
        try:
            data, files, _flags, _from = socket.recv_fds(self.connection, 1 << 16, MOST_FILES)
        except OSError:
            return False
        for file in files:
            os.set_inheritable(file, False)  # noqa: FBT003 - signature of the standard library
        self._files += files
        self._text += data
        return bool(data)

"""Input and output of a command on the phone, as bytes over one connection to the adb server."""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import dataclass
from typing import Any

STDIN, STDOUT, STDERR, EXIT = 0, 1, 2, 3
"""Packet kinds of the shell protocol (AOSP: packages/modules/adb/shell_protocol.h)."""

HEADER_BYTES = 5
"""One byte for the kind and four for the length, little-endian (same file)."""

CHUNK_BYTES = 65536
"""Bytes per read; on most phones, the packets of the protocol are not longer."""

MOST_PACKET_BYTES = 1 << 20
"""Largest valid packet (AOSP: packages/modules/adb/adb.h, MAX_PAYLOAD)."""

MOST_BYTES = 1 << 28
"""Largest output kept, 256 MiB: a million iterations are 20 MB of digits."""

STDERR_KEPT_BYTES = 4096
"""Error output kept: its last lines contain the reason."""


class Timeout(Exception):
    """The phone did not answer in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedScript:
    """A script that has ended."""

    output: str
    error_output: str
    returncode: int


class Stream:
    """Standard input and output of one command on the phone.

    With the shell protocol (Android 7 and later) output, error output and return code are separate; without it,
    everything is one stream of bytes.
    """

    def __init__(self, connection: Any, *, packets: bool) -> None:  # noqa: ANN401 - adbutils has no types
        self._connection = connection
        self._socket: socket.socket = connection.conn
        self._packets = packets
        self._raw = bytearray()
        self._out = bytearray()
        self._err = bytearray()
        self._ended = False
        self.returncode: int | None = None
        """Return code of the shell; None while it runs, without the shell protocol, and if the link was cut."""

    @property
    def error_output(self) -> str:
        """The end of the error output."""
        return bytes(self._err).decode("utf-8", "replace")

    def write(self, data: bytes) -> None:
        """Write to the command's standard input.

        Raises:
            OSError: The link is gone.
        """
        if self._packets:
            data = bytes([STDIN]) + len(data).to_bytes(4, "little") + data
        self._socket.settimeout(30.0)  # a phone that does not take 100 bytes in this time is gone
        self._socket.sendall(data)

    def read_line(self, deadline_s: float) -> str:
        """Read one line of output, without its line ending.

        Args:
            deadline_s: Time limit, on the clock of `time.monotonic`.

        Raises:
            EOFError: The output ended.
            Timeout: No line came in time.
            OSError: The link is gone.
        """
        searched = 0
        while (end := self._out.find(b"\n", searched)) < 0:
            searched = len(self._out)
            if not self._receive(deadline_s) and b"\n" not in self._out[searched:]:
                raise EOFError("the output ended")
        line = bytes(self._out[:end])
        del self._out[: end + 1]
        return line.rstrip(b"\r").decode("utf-8", "replace")

    def read_all(self, deadline_s: float) -> str:
        """Read output until it ends.

        Raises:
            Timeout: It did not end in time.
            OSError: The link is gone.
        """
        while self._receive(deadline_s):
            pass
        return bytes(self._out).decode("utf-8", "replace")

    def read_unless_silent(self, longest_s: float) -> str:
        """Read output until it ends.

        Args:
            longest_s: Longest time without any output, in wall-clock time.

        Raises:
            Timeout: It was silent for longer.
            OSError: The link is gone.
        """
        while self._receive(time.monotonic() + longest_s):
            pass
        return bytes(self._out).decode("utf-8", "replace")

    def is_open(self) -> bool:
        """Check, without waiting, whether a command that prints nothing more still runs."""
        self._socket.settimeout(0.0)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False  # the link or the command has ended

    def close(self) -> None:
        """Close both directions; the command then reads the end of its input."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self._socket.close()

    def _receive(self, deadline_s: float) -> bool:
        """Read the bytes that have arrived; False at the end."""
        if self._ended:
            return False
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise Timeout
        self._socket.settimeout(left_s)
        try:
            chunk = self._socket.recv(CHUNK_BYTES)
        except TimeoutError as error:
            raise Timeout from error
        if not chunk:
            self._ended = True
            return False
        if not self._packets:
            self._out += chunk
        else:
            self._raw += chunk
            self._unpack()
        if len(self._out) > MOST_BYTES:
            raise ConnectionError(f"it sent more than {MOST_BYTES >> 20} MiB")
        return not self._ended

    def _unpack(self) -> None:
        at = 0
        while len(self._raw) - at >= HEADER_BYTES:
            kind = self._raw[at]
            size = int.from_bytes(self._raw[at + 1 : at + HEADER_BYTES], "little")
            if size > MOST_PACKET_BYTES:
                raise ConnectionError(f"it announced a packet of {size} bytes")
            end = at + HEADER_BYTES + size
            if end > len(self._raw):
                break
            self._take(kind, bytes(self._raw[at + HEADER_BYTES : end]))
            at = end
        del self._raw[:at]

    def _take(self, kind: int, data: bytes) -> None:
        if kind == STDOUT:
            self._out += data
        elif kind == STDERR:
            self._err = (self._err + data)[-STDERR_KEPT_BYTES:]
        elif kind == EXIT and data:
            self.returncode = data[0]
            self._ended = True

"""Send and fetch files with adb's sync service; a refusal contains the phone's own reason."""

from __future__ import annotations

import socket
import stat
import struct
import time
from pathlib import Path

MOST_BLOCK_BYTES = 1 << 20
"""Largest valid block of a phone; the blocks sent here have at most `BLOCK_BYTES`."""

MOST_FILE_BYTES = 1 << 31
"""Largest file that is fetched, 2 GiB: a model's outputs have a few MB."""

BLOCK_BYTES = 65536
"""Largest block of data that the service takes (AOSP: packages/modules/adb/file_sync_protocol.h, SYNC_DATA_MAX)."""


class TransferRefused(Exception):
    """The phone did not take or return a file; the text is its own reason."""


def send_file(connection: socket.socket, local: Path, remote: str, mode: int) -> None:
    """Send a file over an open sync service.

    Args:
        connection: The service, just opened.
        local: The file.
        remote: Its full path on the phone.
        mode: Permission bits.

    Raises:
        TransferRefused: The phone refused the file.
        EOFError: The link was cut.
        OSError: The link is gone.

    Source: AOSP, packages/modules/adb/SYNC.TXT.
    """
    head = f"{remote},{stat.S_IFREG | mode}".encode()
    connection.sendall(b"SEND" + struct.pack("<I", len(head)) + head)
    try:
        with local.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                connection.sendall(b"DATA" + struct.pack("<I", len(block)) + block)
        connection.sendall(b"DONE" + struct.pack("<I", int(time.time())))
    except (BrokenPipeError, ConnectionResetError):
        # A phone that refuses a file sends its reason and closes while this machine still sends.
        pass
    _read_answer(connection)


def fetch_file(connection: socket.socket, remote: str) -> bytes:
    """Fetch a file over an open sync service.

    Raises:
        TransferRefused: The file is missing, or may not be read.
        EOFError: The link was cut.
        OSError: The link is gone.

    Source: AOSP, packages/modules/adb/SYNC.TXT.
    """
    name = remote.encode()
    connection.sendall(b"RECV" + struct.pack("<I", len(name)) + name)
    data = bytearray()
    while True:
        word = _exactly(connection, 4)
        length = struct.unpack("<I", _exactly(connection, 4))[0]
        if word == b"DONE":
            return bytes(data)
        block = _block(connection, length)
        if len(data) + length > MOST_FILE_BYTES:
            raise ValueError(f"{remote} has more than {MOST_FILE_BYTES >> 30} GiB")
        if word == b"FAIL":
            raise TransferRefused(block.decode("utf-8", "replace"))
        if word != b"DATA":
            raise ValueError(f"adb answered {word!r} to a pull")
        data += block


def _read_answer(connection: socket.socket) -> None:
    word = _exactly(connection, 4)
    length = struct.unpack("<I", _exactly(connection, 4))[0]
    if word == b"OKAY":
        return
    if word == b"FAIL":
        raise TransferRefused(_block(connection, length).decode("utf-8", "replace"))
    raise ValueError(f"adb answered {word!r} to a push")


def _block(connection: socket.socket, length: int) -> bytes:
    if length > MOST_BLOCK_BYTES:
        raise ValueError(f"adb announced a block of {length} bytes")
    return _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise EOFError("the link was cut during a transfer")
        data += chunk
    return bytes(data)

"""Encode and decode the packets of the adb transport: six little-endian words and a payload.

Source: AOSP `packages/modules/adb/protocol.txt`.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass

CNXN, AUTH, OPEN, OKAY, WRTE, CLSE = b"CNXN", b"AUTH", b"OPEN", b"OKAY", b"WRTE", b"CLSE"

VERSION = 0x01000001
"""The version that ignores checksums; older ones need a checksum of every payload."""

MAX_DATA = 1 << 20
"""Largest accepted payload, as announced by a daemon of this version."""

AUTH_TOKEN, AUTH_SIGNATURE = 1, 2

_HEADER = struct.Struct("<4s3IiI")


@dataclass(frozen=True, slots=True)
class Packet:
    """One message in either direction."""

    command: bytes
    arg0: int = 0
    arg1: int = 0
    data: bytes = b""

    def encode(self) -> bytes:
        """Encode it for the wire."""
        (word,) = struct.unpack("<I", self.command)
        magic = word ^ 0xFFFFFFFF
        return _HEADER.pack(self.command, self.arg0, self.arg1, len(self.data), 0, magic) + self.data


async def read_packet(reader: asyncio.StreamReader) -> Packet:
    """Read the next packet.

    Raises:
        asyncio.IncompleteReadError: The connection ended.
    """
    command, arg0, arg1, length, _checksum, _magic = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    if length > MAX_DATA:
        raise ConnectionError(f"a payload of {length} bytes was announced")
    return Packet(command, arg0, arg1, await reader.readexactly(length))

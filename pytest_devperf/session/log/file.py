"""A log file: records of bytes, each written completely or recognised as incomplete."""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pytest_devperf.errors import StoreError
from pytest_devperf.store.file import read_bytes

MAGIC = b"pytest-devperf log 1\n"
"""The first bytes of a log: another format gets another number."""

_HEAD = struct.Struct(">II")
"""Length and CRC-32 of a record, before its bytes."""


@dataclass(frozen=True, slots=True)
class LogContent:
    """The records of a log."""

    records: tuple[bytes, ...]
    """Complete ones, in order."""
    whole_bytes: int
    """Size of the file up to the end of the last complete record."""
    damaged: bool
    """Whether anything follows that is not a complete record."""


def read_log(path: Path) -> LogContent:
    """Read a log up to the first incomplete record: a killed process may leave one at the end.

    Raises:
        StoreError: It cannot be read, or is not a log.
    """
    data = read_bytes(path, regular=True)
    if not data.startswith(MAGIC):
        raise StoreError(f"{path} is not the log of a session", "delete it")
    records: list[bytes] = []
    place = len(MAGIC)
    while (end := _end_of(data, place)) is not None:
        records.append(data[place + _HEAD.size : end])
        place = end
    return LogContent(tuple(records), place, damaged=place < len(data))


def _end_of(data: bytes, place: int) -> int | None:
    """Return the end of the record at a place; None if there is no complete one."""
    if len(data) - place < _HEAD.size:
        return None
    length, checksum = _HEAD.unpack_from(data, place)
    end = place + _HEAD.size + length
    if end > len(data) or zlib.crc32(memoryview(data)[place + _HEAD.size : end]) != checksum:
        return None
    return int(end)


def _framed(record: bytes) -> bytes:
    return _HEAD.pack(len(record), zlib.crc32(record)) + record


class LogFile:
    """A log that is written.

    Args:
        path: The file.
        whole_bytes: Where to continue an existing one; what follows is cut off. None: create it.

    Raises:
        OSError: It cannot be opened, or exists already.
    """

    def __init__(self, path: Path, *, whole_bytes: int | None = None) -> None:
        """Open the file."""
        self._file: BinaryIO = path.open("xb" if whole_bytes is None else "r+b", buffering=0)
        if whole_bytes is not None:
            self._file.truncate(whole_bytes)
            self._file.seek(whole_bytes)

    def begin(self, header: bytes) -> None:
        """Write the first record of a new file.

        Raises:
            OSError: It cannot be written completely.
        """
        self._write(MAGIC + _framed(header))

    def append(self, record: bytes) -> None:
        """Write a record, so that it survives this process and a power failure.

        Raises:
            OSError: It cannot be written completely.
        """
        self._write(_framed(record))

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

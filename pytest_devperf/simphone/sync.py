"""The `sync:` service: stat, list, send and receive, in both versions.

Source: AOSP `packages/modules/adb/file_sync_protocol.h` and `SYNC.TXT`.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.simphone.daemon import Stream

_STAT_V1 = struct.Struct("<4s3I")
_STAT_V2 = struct.Struct("<4sIQQIIIIQqqq")
_DENT_V1 = struct.Struct("<4s4I")
_DENT_V2 = struct.Struct("<4sIQQIIIIQqqqI")
_WORD = struct.Struct("<4sI")

MAX_PATH_BYTES = 1024
"""Longer paths are refused, as the phone's own daemon does."""

DATA_BYTES = 64 * 1024
"""Most that one DATA message may carry (SYNC_DATA_MAX)."""

PLAIN_ERRNO = 5
"""EIO, where the system gives no number of its own."""


@dataclass(frozen=True, slots=True)
class Files:
    """What the service may touch, and what it tells when something arrives."""

    locate: Callable[[str], Path]
    """Path on the phone -> path here; raises OSError for what cannot be."""
    writable: Callable[[str], bool]
    """Whether the shell user may write there."""
    received: Callable[[int], None]
    """Told after every block that a push brought, with the bytes so far; may cut the link or raise OSError."""


async def serve_sync(stream: Stream, files: Files) -> None:
    """Answer requests until QUIT or the end."""
    while True:
        name, size = _WORD.unpack(await stream.read_exactly(_WORD.size))
        if name == b"QUIT":
            return
        if size > MAX_PATH_BYTES:
            await _fail(stream, "path too long")
            return
        path = (await stream.read_exactly(size)).decode("utf-8", "surrogateescape")
        answer = _ANSWERS.get(name)
        if answer is None:
            await _fail(stream, f"unknown command {name!r}")
            return
        await answer(stream, files, path)


async def _stat_v1(stream: Stream, files: Files, path: str) -> None:
    try:
        facts = os.lstat(files.locate(path))
    except OSError:
        await stream.write(_STAT_V1.pack(b"STAT", 0, 0, 0))
        return
    await stream.write(_STAT_V1.pack(b"STAT", facts.st_mode, facts.st_size & 0xFFFFFFFF, int(facts.st_mtime)))


def _stat_fields(look: Callable[[Path], os.stat_result], where: Path) -> tuple[int, ...]:
    """The numbers of version 2, from `error` to `ctime`."""
    try:
        facts = look(where)
    except OSError as error:
        return (error.errno or PLAIN_ERRNO, *[0] * 10)
    times = (int(facts.st_atime), int(facts.st_mtime), int(facts.st_ctime))
    return (0, facts.st_dev, facts.st_ino, facts.st_mode, facts.st_nlink, 2000, 2000, facts.st_size, *times)


async def _stat_v2(stream: Stream, files: Files, path: str) -> None:
    await stream.write(_STAT_V2.pack(b"STA2", *_located(files, path, os.stat)))


async def _lstat_v2(stream: Stream, files: Files, path: str) -> None:
    await stream.write(_STAT_V2.pack(b"LST2", *_located(files, path, os.lstat)))


def _located(files: Files, path: str, look: Callable[[Path], os.stat_result]) -> tuple[int, ...]:
    try:
        return _stat_fields(look, files.locate(path))
    except OSError as error:
        return (error.errno or PLAIN_ERRNO, *[0] * 10)


def _names(files: Files, path: str) -> list[tuple[Path, bytes]]:
    try:
        folder = files.locate(path)
        return [
            (folder / name, os.fsencode(name))
            for name in (".", "..", *sorted(entry.name for entry in folder.iterdir()))
        ]
    except OSError:
        return []


async def _list_v1(stream: Stream, files: Files, path: str) -> None:
    for where, name in _names(files, path):
        facts = os.lstat(where)
        size, changed = facts.st_size & 0xFFFFFFFF, int(facts.st_mtime)
        await stream.write(_DENT_V1.pack(b"DENT", facts.st_mode, size, changed, len(name)) + name)
    await stream.write(_DENT_V1.pack(b"DONE", 0, 0, 0, 0))


async def _list_v2(stream: Stream, files: Files, path: str) -> None:
    for where, name in _names(files, path):
        await stream.write(_DENT_V2.pack(b"DNT2", *_stat_fields(os.lstat, where), len(name)) + name)
    await stream.write(_DENT_V2.pack(b"DONE", *[0] * 12))


async def _send_v1(stream: Stream, files: Files, request: str) -> None:
    path, _, mode = request.rpartition(",")
    await _receive_file(stream, files, path, int(mode) if mode.isdigit() else 0o644)


async def _send_v2(stream: Stream, files: Files, path: str) -> None:
    _name, mode, flags = struct.unpack("<4sII", await stream.read_exactly(12))
    if flags & 0x7:  # a compression that was never advertised
        await _fail(stream, f"unsupported flags {flags:#x}")
        return
    await _receive_file(stream, files, path, mode)


async def _receive_file(stream: Stream, files: Files, path: str, mode: int) -> None:
    """Write what comes; after a failure keep taking blocks, as the phone's own daemon does."""
    push = _Push(files, path)
    while True:
        name, size = _WORD.unpack(await stream.read_exactly(_WORD.size))
        if name == b"DONE":
            break
        told = push.problem
        push.take(await stream.read_exactly(size))
        if push.problem is not None and told is None:
            await _fail(stream, push.problem)
    if push.problem is not None:
        return  # told already
    problem = push.check() or _write(files.locate(path), bytes(push.data), mode, size)
    if problem:
        await _fail(stream, problem)
    else:
        await stream.write(_WORD.pack(b"OKAY", 0))


class _Push:
    """A file that arrives."""

    def __init__(self, files: Files, path: str) -> None:
        self.data = bytearray()
        self.problem: str | None = None
        self._files = files
        self._path = path

    def take(self, block: bytes) -> None:
        """Keep one block, or find why not."""
        if self.problem is None:
            self.data += block
            self.problem = self.check()

    def check(self) -> str | None:
        """Why it cannot be kept; None while it can."""
        if not self._files.writable(self._path):
            return f"couldn't create file: Permission denied ({self._path})"
        try:
            self._files.received(len(self.data))
        except OSError as error:
            return f"couldn't write to file: {error.strerror}"
        return None


def _write(where: Path, data: bytes, mode: int, changed_s: int) -> str | None:
    """Put a file or a link in place; missing folders are made on the way."""
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
        where.unlink(missing_ok=True)
        if stat.S_ISLNK(mode):
            where.symlink_to(os.fsdecode(data.rstrip(b"\0")))
            return None
        where.write_bytes(data)
        where.chmod((mode & 0o777) | 0o600)
        os.utime(where, (changed_s, changed_s))
    except OSError as error:
        return f"couldn't create file: {error.strerror}"
    return None


async def _recv_v1(stream: Stream, files: Files, path: str) -> None:
    try:
        data = files.locate(path).read_bytes()
    except OSError as error:
        await _fail(stream, f"open failed: {error.strerror}")
        return
    for start in range(0, len(data), DATA_BYTES):
        block = data[start : start + DATA_BYTES]
        await stream.write(_WORD.pack(b"DATA", len(block)) + block)
    await stream.write(_WORD.pack(b"DONE", 0))


async def _recv_v2(stream: Stream, files: Files, path: str) -> None:
    _name, flags = _WORD.unpack(await stream.read_exactly(_WORD.size))
    if flags & 0x7:
        await _fail(stream, f"unsupported flags {flags:#x}")
        return
    await _recv_v1(stream, files, path)


async def _fail(stream: Stream, words: str) -> None:
    text = words.encode("utf-8", "surrogateescape")
    await stream.write(_WORD.pack(b"FAIL", len(text)) + text)


_ANSWERS = {
    b"STAT": _stat_v1,
    b"STA2": _stat_v2,
    b"LST2": _lstat_v2,
    b"LIST": _list_v1,
    b"LIS2": _list_v2,
    b"SEND": _send_v1,
    b"SND2": _send_v2,
    b"RECV": _recv_v1,
    b"RCV2": _recv_v2,
}

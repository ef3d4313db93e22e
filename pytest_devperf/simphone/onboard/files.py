"""The `sync:` service of the phone's adb daemon: stat, list, send and receive, in both versions.

It runs on the phone, as a user of it: what it may read and write, and where a link leads, the kernel decides.

Source: AOSP, packages/modules/adb, `file_sync_protocol.h`, `SYNC.TXT` and `daemon/file_sync_service.cpp`.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import BinaryIO

_STAT_V1 = struct.Struct("<4s3I")
_STAT_V2 = struct.Struct("<4sIQQIIIIQqqq")
_DENT_V1 = struct.Struct("<4s4I")
_DENT_V2 = struct.Struct("<4sIQQIIIIQqqqI")
_WORD = struct.Struct("<4sI")

MAX_PATH_BYTES = 1024
"""Longer paths are refused, as the phone's own daemon does."""

DATA_BYTES = 64 * 1024
"""Most that one DATA message may carry (SYNC_DATA_MAX)."""

PLAIN_ERRNO = errno.EIO
"""Told where the system gives no number of its own."""

SHELL_UID = 2000
"""User and group of what the shell owns."""

COMPRESSED = 0x7
"""Flags of compressions, none of which is advertised."""


class _HungUp(Exception):
    """The other side left in the middle of a message."""


class FileService:
    """Serves one conversation.

    Args:
        connection: The bytes from and to the computer.
        root: Folder of this machine that is the phone's root; `/` on a phone that has a file system of its own.
        writable: Whether a path of the phone may be written, where the kernel does not know.
        full: Whether nothing more fits.
    """

    def __init__(self, connection: socket, *, root: Path, writable: Callable[[str], bool], full: bool) -> None:
        self._in: BinaryIO = connection.makefile("rb")
        self._out = connection
        self._root = root
        self._writable = writable
        self._full = full

    def serve(self) -> None:
        """Answer requests until QUIT or the end."""
        answers = {
            b"STAT": self._stat_v1,
            b"STA2": lambda path: self._stat_v2(b"STA2", path, os.stat),
            b"LST2": lambda path: self._stat_v2(b"LST2", path, os.lstat),
            b"LIST": self._list_v1,
            b"LIS2": self._list_v2,
            b"SEND": self._send_v1,
            b"SND2": self._send_v2,
            b"RECV": self._recv_v1,
            b"RCV2": self._recv_v2,
        }
        try:
            while True:
                name, size = self._read_word()
                if name == b"QUIT":
                    return
                if size > MAX_PATH_BYTES:
                    self._fail("path too long")
                    return
                path = os.fsdecode(self._read(size))
                if name not in answers:
                    self._fail(f"unknown command {name!r}")
                    return
                answers[name](path)
        except (_HungUp, OSError):
            pass  # nobody is there to be told

    # -- stat and list ---------------------------------------------------------------------------

    def _stat_v1(self, path: str) -> None:
        try:
            facts = self._locate(path).lstat()
        except OSError:
            self._out.sendall(_STAT_V1.pack(b"STAT", 0, 0, 0))
            return
        size, changed_s = facts.st_size & 0xFFFFFFFF, int(facts.st_mtime)
        self._out.sendall(_STAT_V1.pack(b"STAT", facts.st_mode, size, changed_s))

    def _stat_v2(self, name: bytes, path: str, look: Callable[[Path], os.stat_result]) -> None:
        self._out.sendall(_STAT_V2.pack(name, *self._facts(path, look)))

    def _facts(self, path: str, look: Callable[[Path], os.stat_result]) -> tuple[int, ...]:
        """Give the numbers of version 2, from `error` to `ctime`."""
        try:
            facts = look(self._locate(path))
        except OSError as error:
            return (error.errno or PLAIN_ERRNO, *[0] * 10)
        times = (int(facts.st_atime), int(facts.st_mtime), int(facts.st_ctime))
        owner = (SHELL_UID, SHELL_UID)
        return (0, facts.st_dev, facts.st_ino, facts.st_mode, facts.st_nlink, *owner, facts.st_size, *times)

    def _names(self, path: str) -> list[str]:
        try:
            return [".", "..", *sorted(os.listdir(self._locate(path)))]  # noqa: PTH208 - names are what is wanted
        except OSError:
            return []

    def _list_v1(self, path: str) -> None:
        for name in self._names(path):
            facts = self._locate(f"{path}/{name}").lstat()
            coded = os.fsencode(name)
            size, changed_s = facts.st_size & 0xFFFFFFFF, int(facts.st_mtime)
            self._out.sendall(_DENT_V1.pack(b"DENT", facts.st_mode, size, changed_s, len(coded)) + coded)
        self._out.sendall(_DENT_V1.pack(b"DONE", 0, 0, 0, 0))

    def _list_v2(self, path: str) -> None:
        for name in self._names(path):
            coded = os.fsencode(name)
            self._out.sendall(_DENT_V2.pack(b"DNT2", *self._facts(f"{path}/{name}", os.lstat), len(coded)) + coded)
        self._out.sendall(_DENT_V2.pack(b"DONE", *[0] * 12))

    # -- send ------------------------------------------------------------------------------------

    def _send_v1(self, request: str) -> None:
        path, _, mode = request.rpartition(",")
        self._receive_file(path, int(mode) if mode.isdigit() else 0o644)

    def _send_v2(self, path: str) -> None:
        _name, mode, flags = struct.unpack("<4sII", self._read(12))
        if flags & COMPRESSED:
            self._fail(f"unsupported flags {flags:#x}")
            return
        self._receive_file(path, mode)

    def _receive_file(self, path: str, mode: int) -> None:
        """Write what comes; after a failure keep taking blocks, as the phone's own daemon does."""
        arriving = _Arriving(self, path, mode)
        told = False
        try:
            while True:
                told = self._fail_once(arriving.problem, told=told)
                name, size = self._read_word()
                if name == b"DONE":
                    break
                arriving.take(self._read(size))
        except _HungUp:
            arriving.give_up()
            raise
        arriving.end(size)
        if not self._fail_once(arriving.problem, told=told):
            self._out.sendall(_WORD.pack(b"OKAY", 0))

    def _fail_once(self, problem: str | None, *, told: bool) -> bool:
        """Tell of a problem if there is one that was not told; returns whether one was."""
        if problem is not None and not told:
            self._fail(problem)
        return problem is not None

    def create(self, path: str, mode: int) -> BinaryIO:
        """Make a file in place of one that may be there; missing folders are made on the way.

        Raises:
            OSError: It may not be made.
        """
        where = self.free(path)
        handle = os.open(where, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.fchmod(handle, mode)
        return os.fdopen(handle, "wb", buffering=0)

    def free(self, path: str) -> Path:
        """Make room for a file.

        Raises:
            OSError: There may be none.
        """
        if not self._writable(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        where = self._locate(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.unlink(missing_ok=True)
        return where

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link in place of what may be there.

        Raises:
            OSError: It may not be made.
        """
        inside = self._locate(target) if target.startswith("/") else Path(target)
        self.free(path).symlink_to(inside)

    def remove(self, path: str) -> None:
        """Take a file away that did not arrive whole."""
        self._locate(path).unlink(missing_ok=True)

    def check_space(self) -> None:
        """See that something fits.

        Raises:
            OSError: Nothing does.
        """
        if self._full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    # -- receive ---------------------------------------------------------------------------------

    def _recv_v1(self, path: str) -> None:
        try:
            with self._locate(path).open("rb") as file:
                while block := file.read(DATA_BYTES):
                    self._out.sendall(_WORD.pack(b"DATA", len(block)) + block)
        except OSError as error:
            self._fail(f"open failed: {error.strerror}")
            return
        self._out.sendall(_WORD.pack(b"DONE", 0))

    def _recv_v2(self, path: str) -> None:
        _name, flags = _WORD.unpack(self._read(_WORD.size))
        if flags & COMPRESSED:
            self._fail(f"unsupported flags {flags:#x}")
            return
        self._recv_v1(path)

    # -- below -----------------------------------------------------------------------------------

    def _locate(self, path: str) -> Path:
        """Place a path of the phone; `..` cannot leave it.

        Raises:
            OSError: There can be no such path (it holds a NUL).
        """
        if "\0" in path:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        return self._root / posixpath.normpath("/" + path).lstrip("/")

    def _read_word(self) -> tuple[bytes, int]:
        name, number = _WORD.unpack(self._read(_WORD.size))
        return name, number

    def _read(self, size: int) -> bytes:
        data = self._in.read(size)
        if len(data) < size:
            raise _HungUp
        return data

    def _fail(self, words: str) -> None:
        text = words.encode("utf-8", "surrogateescape")
        self._out.sendall(_WORD.pack(b"FAIL", len(text)) + text)


class _Arriving:
    """A file or a link that comes in blocks."""

    def __init__(self, service: FileService, path: str, mode: int) -> None:
        self.problem: str | None = None
        """Why it cannot be kept; None while it can."""
        self._service = service
        self._path = path
        self._target = bytearray() if stat.S_ISLNK(mode) else None
        self._file: BinaryIO | None = None
        if self._target is None:
            # The daemon hands the owner's rights on to everybody.
            bits = mode & 0o777
            bits |= bits >> 3 & 0o070
            bits |= bits >> 3 & 0o007
            self._try("couldn't create file", lambda: self._open(bits))

    def take(self, block: bytes) -> None:
        """Keep one block, or note why not."""
        if self._target is not None:
            self._target += block
        elif self._file is not None:
            file = self._file
            self._try("write failed", lambda: self._write(file, block))

    def end(self, changed_s: int) -> None:
        """Close it, with the time of its last change."""
        target = self._target
        if target is not None:
            name = os.fsdecode(bytes(target).rstrip(b"\0"))
            self._try("couldn't create symlink", lambda: self._service.link(self._path, name))
        elif self._file is not None and self.problem is None:
            os.utime(self._file.fileno(), (changed_s, changed_s))
            self._file.close()

    def give_up(self) -> None:
        """Take away what came of it."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self._service.remove(self._path)

    def _open(self, mode: int) -> None:
        self._file = self._service.create(self._path, mode)

    def _write(self, file: BinaryIO, block: bytes) -> None:
        self._service.check_space()
        left = memoryview(block)
        while left:
            left = left[file.write(left) :]

    def _try(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError as error:
            self.problem = f"{what}: {error.strerror}"
            self.give_up()

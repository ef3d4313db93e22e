"""The `sync:` service of the phone's adb daemon: stat, list, send and receive, in both versions.

It runs on the phone as the shell user: the kernel resolves links and decides what it may read and write.

Source: AOSP, packages/modules/adb, `file_sync_protocol.h`, `SYNC.TXT` and `daemon/file_sync_service.cpp`.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import BinaryIO

from .incoming import IncomingFile
from .tree import Tree

_STAT_V1 = struct.Struct("<4s3I")
_STAT_V2 = struct.Struct("<4sIQQIIIIQqqq")
_DENT_V1 = struct.Struct("<4s4I")
_DENT_V2 = struct.Struct("<4sIQQIIIIQqqqI")
_WORD = struct.Struct("<4sI")

MAX_PATH_BYTES = 1024
"""Longest path; the phone's own daemon refuses longer ones too."""

DATA_BYTES = 64 * 1024
"""Largest DATA message (SYNC_DATA_MAX)."""

COMPRESSED = 0x7
"""Flags of compression formats, none of which is advertised."""


class _HungUp(Exception):
    """The other side disconnected in the middle of a message."""


class FileService:
    """Serves one sync connection.

    Args:
        connection: The socket to the computer.
        tree: The phone's files.
    """

    def __init__(self, connection: socket, tree: Tree) -> None:
        self._in: BinaryIO = connection.makefile("rb")
        self._out = connection
        self._tree = tree

    def serve(self) -> None:
        """Answer requests until QUIT or the end of the connection."""
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
            pass  # the client has disconnected

    # -- stat and list ---------------------------------------------------------------------------

    def _stat_v1(self, path: str) -> None:
        try:
            facts = self._tree.locate(path).lstat()
        except OSError:
            self._out.sendall(_STAT_V1.pack(b"STAT", 0, 0, 0))
            return
        size, changed_s = facts.st_size & 0xFFFFFFFF, int(facts.st_mtime)
        self._out.sendall(_STAT_V1.pack(b"STAT", facts.st_mode, size, changed_s))

    def _stat_v2(self, name: bytes, path: str, look: Callable[[Path], os.stat_result]) -> None:
        self._out.sendall(_STAT_V2.pack(name, *self._tree.facts(path, look)))

    def _list_v1(self, path: str) -> None:
        for name in self._tree.names(path):
            facts = self._tree.locate(f"{path}/{name}").lstat()
            coded = os.fsencode(name)
            size, changed_s = facts.st_size & 0xFFFFFFFF, int(facts.st_mtime)
            self._out.sendall(_DENT_V1.pack(b"DENT", facts.st_mode, size, changed_s, len(coded)) + coded)
        self._out.sendall(_DENT_V1.pack(b"DONE", 0, 0, 0, 0))

    def _list_v2(self, path: str) -> None:
        for name in self._tree.names(path):
            coded = os.fsencode(name)
            self._out.sendall(_DENT_V2.pack(b"DNT2", *self._tree.facts(f"{path}/{name}", os.lstat), len(coded)) + coded)
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
        """Write the incoming blocks; after a failure keep reading them, as the phone's own daemon does."""
        arriving = IncomingFile(self._tree, path, mode)
        failed = False
        try:
            while True:
                failed = self._fail_once(arriving.problem, failed=failed)
                name, size = self._read_word()
                if name == b"DONE":
                    break
                arriving.take(self._read(size))
        except _HungUp:
            arriving.give_up()
            raise
        arriving.end(size)
        if not self._fail_once(arriving.problem, failed=failed):
            self._out.sendall(_WORD.pack(b"OKAY", 0))

    def _fail_once(self, problem: str | None, *, failed: bool) -> bool:
        """Report a problem unless one was reported before; return whether one has been reported."""
        if problem is not None and not failed:
            self._fail(problem)
        return problem is not None

    # -- receive ---------------------------------------------------------------------------------

    def _recv_v1(self, path: str) -> None:
        try:
            with self._tree.locate(path).open("rb") as file:
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

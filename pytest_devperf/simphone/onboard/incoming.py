"""A file or a link that a push transfers to the phone, block by block."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from io import FileIO

from .tree import Tree


class IncomingFile:
    """A file or a link that arrives in blocks."""

    def __init__(self, tree: Tree, path: str, mode: int) -> None:
        self.problem: str | None = None
        """Why it cannot be stored; None as long as it can."""
        self._tree = tree
        self._path = path
        self._target = bytearray() if stat.S_ISLNK(mode) else None
        self._file: FileIO | None = None
        if self._target is None:
            # The daemon extends the owner's permissions to everybody.
            bits = mode & 0o777
            bits |= bits >> 3 & 0o070
            bits |= bits >> 3 & 0o007
            self._try("couldn't create file", lambda: self._open(bits))

    def take(self, block: bytes) -> None:
        """Write one block, or record the error."""
        if self._target is not None:
            self._target += block
        elif self._file is not None:
            file = self._file
            self._try("write failed", lambda: self._write(file, block))

    def end(self, changed_s: int) -> None:
        """Close the file and set its modification time."""
        target = self._target
        if target is not None:
            name = os.fsdecode(bytes(target).rstrip(b"\0"))
            self._try("couldn't create symlink", lambda: self._tree.link(self._path, name))
        elif self._file is not None and self.problem is None:
            os.utime(self._file.fileno(), (changed_s, changed_s))
            self._file.close()

    def give_up(self) -> None:
        """Delete the incomplete file."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self._tree.remove(self._path)

    def _open(self, mode: int) -> None:
        self._file = self._tree.create(self._path, mode)

    def _write(self, file: FileIO, block: bytes) -> None:
        self._tree.check_space()
        left = memoryview(block)
        while left:
            left = left[file.write(left) :]

    def _try(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError as error:
            self.problem = f"{what}: {error.strerror}"
            self.give_up()

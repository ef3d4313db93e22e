"""The phone's files, as its adb daemon touches them: where a path lies, and what may be made there."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable
from io import FileIO
from pathlib import Path

PLAIN_ERRNO = errno.EIO
"""Stands for an error that has no number."""

SHELL_UID = 2000
"""User and group of what the shell owns (AOSP: system/core/libcutils, android_filesystem_config.h)."""


class Tree:
    """All files of a phone.

    Args:
        root: Folder of this machine that is the phone's root; `/` on a phone that has a file system of its own.
        writable: Whether a path of the phone may be written, beside what the kernel allows.
        full: Whether nothing more fits.
    """

    def __init__(self, *, root: Path, writable: Callable[[str], bool], full: bool) -> None:
        self._root = root
        self._writable = writable
        self._full = full

    def locate(self, path: str) -> Path:
        """Place a path of the phone; `..` cannot leave it.

        Raises:
            OSError: There can be no such path (it holds a NUL).
        """
        if "\0" in path:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        return self._root / posixpath.normpath("/" + path).lstrip("/")

    def names(self, path: str) -> list[str]:
        """List a folder; nothing if it is none, or may not be listed."""
        try:
            return [".", "..", *sorted(os.listdir(self.locate(path)))]  # noqa: PTH208 - names are what is wanted
        except OSError:
            return []

    def facts(self, path: str, look: Callable[[Path], os.stat_result]) -> tuple[int, ...]:
        """Give the numbers of stat's version 2, from `error` to `ctime`."""
        try:
            facts = look(self.locate(path))
        except OSError as error:
            return (error.errno or PLAIN_ERRNO, *[0] * 10)
        times = (int(facts.st_atime), int(facts.st_mtime), int(facts.st_ctime))
        owner = (SHELL_UID, SHELL_UID)
        return (0, facts.st_dev, facts.st_ino, facts.st_mode, facts.st_nlink, *owner, facts.st_size, *times)

    def create(self, path: str, mode: int) -> FileIO:
        """Make a file in place of one that may be there; missing folders are made on the way.

        Raises:
            OSError: It may not be made.
        """
        handle = os.open(self._make_room(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.fchmod(handle, mode)
        return FileIO(handle, "wb")

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link in place of what may be there.

        Raises:
            OSError: It may not be made.
        """
        inside = self.locate(target) if target.startswith("/") else Path(target)
        self._make_room(path).symlink_to(inside)

    def remove(self, path: str) -> None:
        """Take a file away that did not arrive whole."""
        self.locate(path).unlink(missing_ok=True)

    def check_space(self) -> None:
        """See that something fits.

        Raises:
            OSError: Nothing does.
        """
        if self._full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _make_room(self, path: str) -> Path:
        if not self._writable(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        where = self.locate(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.unlink(missing_ok=True)
        return where

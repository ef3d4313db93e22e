"""The phone's files as its adb daemon accesses them."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable
from io import FileIO
from pathlib import Path

PLAIN_ERRNO = errno.EIO
"""Replaces an error without a number."""

SHELL_UID = 2000
"""User and group of the shell's files (AOSP: system/core/libcutils, android_filesystem_config.h)."""


class Tree:
    """All files of a phone.

    Args:
        root: Folder of this machine that is the phone's root; `/` on a phone with its own file system.
        writable: Returns whether a path of the phone may be written, in addition to the kernel's rules.
        full: Whether no space is left.
    """

    def __init__(self, *, root: Path, writable: Callable[[str], bool], full: bool) -> None:
        self._root = root
        self._writable = writable
        self._full = full

    def locate(self, path: str) -> Path:
        """Convert a path of the phone to a path of this machine; `..` cannot leave the root.

        Raises:
            OSError: The path is not valid (it contains a NUL).
        """
        if "\0" in path:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        return self._root / posixpath.normpath("/" + path).lstrip("/")

    def names(self, path: str) -> list[str]:
        """List a folder; empty if it is not a folder, or may not be listed."""
        try:
            return [".", "..", *sorted(os.listdir(self.locate(path)))]  # noqa: PTH208 - only names are needed
        except OSError:
            return []

    def facts(self, path: str, look: Callable[[Path], os.stat_result]) -> tuple[int, ...]:
        """Return the numbers of stat's version 2, from `error` to `ctime`."""
        try:
            facts = look(self.locate(path))
        except OSError as error:
            return (error.errno or PLAIN_ERRNO, *[0] * 10)
        times = (int(facts.st_atime), int(facts.st_mtime), int(facts.st_ctime))
        owner = (SHELL_UID, SHELL_UID)
        return (0, facts.st_dev, facts.st_ino, facts.st_mode, facts.st_nlink, *owner, facts.st_size, *times)

    def create(self, path: str, mode: int) -> FileIO:
        """Create or replace a file; missing folders are created.

        Raises:
            OSError: It cannot be created.
        """
        handle = os.open(self._make_room(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.fchmod(handle, mode)
        return FileIO(handle, "wb")

    def link(self, path: str, target: str) -> None:
        """Create a symbolic link, or replace a file by it.

        Raises:
            OSError: It cannot be created.
        """
        inside = self.locate(target) if target.startswith("/") else Path(target)
        self._make_room(path).symlink_to(inside)

    def remove(self, path: str) -> None:
        """Delete a file that was transferred incompletely."""
        self.locate(path).unlink(missing_ok=True)

    def check_space(self) -> None:
        """Check that there is space.

        Raises:
            OSError: No space is left.
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

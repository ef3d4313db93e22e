"""Writes files whole or not at all, and tidies up after writers that were killed."""

from __future__ import annotations

import errno
import os
import re
import secrets
import select
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_devperf.errors import StoreError

ABANDONED_S = 3600.0
"""Age of a temporary file whose writer is gone: writing takes seconds, and clocks of a network differ by minutes."""

READER_S = 30.0
"""How long the reader of a pipe may take to make room before it counts as stuck."""

_TEMPORARY = re.compile(r"\.devperf-[0-9a-f]{8}\.tmp")


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all; missing folders are made.

    A symbolic link stays, and the file that it leads to is written. What is no regular file (a pipe, a device) is
    written into.

    Raises:
        StoreError: It cannot be written; nothing is left behind, and what stood there before stays.
    """
    path = Path(path)
    with told(path):
        if _is_special(path):
            _write_into(path, data)
            return
        file = Path(os.path.realpath(path))
        with folders_made(file.parent):
            sweep(file.parent)
            replace(file, data)


def replace(path: Path, data: bytes) -> None:
    """Put bytes in a file's place in one step, safe against a crash or a full disk at any moment.

    Raises:
        OSError: As the system says; the temporary file is gone again.
    """
    temporary = temporary_beside(path)
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.is_file():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def temporary_name() -> str:
    """Choose a name for what is written before it takes its place."""
    return f".devperf-{secrets.token_hex(4)}.tmp"


def is_temporary(name: str) -> bool:
    """Tell whether a file has such a name."""
    return _TEMPORARY.fullmatch(name) is not None


def temporary_beside(path: Path) -> Path:
    """Name a file or folder that is filled before it takes another one's place."""
    return path.with_name(temporary_name())


def sweep(folder: Path) -> None:
    """Remove what writers that were killed left in a folder."""
    with suppress(OSError):
        names = [name for name in os.listdir(folder) if is_temporary(name)]  # noqa: PTH208 - a Path for each costs more
        for path in (folder / name for name in names):
            with suppress(OSError):
                _remove_abandoned(path)


def _remove_abandoned(path: Path) -> None:
    if time.time() - path.lstat().st_mtime < ABANDONED_S:
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write into an error with a next step."""
    try:
        yield
    except NotADirectoryError as error:
        raise StoreError(f"{path} cannot be written (a part of the path is a file)", "name another folder") from error
    except FileExistsError as error:
        raise StoreError(f"{error.filename or path} is a file where a folder is needed", "name another path") from error
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} cannot be written ({reason(error)})", "make room or permissions, or name another path"
        ) from error


@contextmanager
def folders_made(folder: Path) -> Iterator[None]:
    """Make missing folders, and remove exactly those again if the block fails, but for what others put there.

    Raises:
        OSError: They cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    made: list[Path] = []
    try:
        for each in reversed(missing):
            each.mkdir(exist_ok=True)
            made.append(each)
        folder.mkdir(exist_ok=True)  # refused if it is a file
        yield
    except BaseException:
        with suppress(OSError):
            for each in reversed(made):
                each.rmdir()
        raise


def sync_folder(folder: Path) -> None:
    """Make the new names in a folder survive a power cut, if the system can do that."""
    with suppress(OSError):  # Windows opens no folders; some network file systems refuse
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def reason(error: OSError | ValueError) -> str:
    """Say in the system's words why a file was refused."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def _is_special(path: Path) -> bool:
    """Tell whether there is something that is neither a file nor a folder."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _write_into(path: Path, data: bytes) -> None:
    """Write into a pipe or a device; a pipe that nobody reads is not waited for."""
    flags = os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, "no program reads it") from error
        raise
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[_write_some(descriptor, rest) :]
    finally:
        os.close(descriptor)


def _write_some(descriptor: int, data: memoryview) -> int:
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        if not select.select((), (descriptor,), (), READER_S)[1]:
            raise OSError(errno.ETIMEDOUT, f"its reader took nothing for {READER_S:g} s") from None
        return 0

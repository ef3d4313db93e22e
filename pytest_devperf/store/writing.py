"""Write files completely or not at all, and clean up after writers that were killed."""

from __future__ import annotations

import errno
import os
import re
import secrets
import select
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_devperf.errors import StoreError

ABANDONED_S = 3600.0
"""Age at which a temporary file is abandoned: writing takes seconds, and clocks of a network differ by minutes."""

READER_S = 30.0
"""Longest time that the reader of a pipe may take to make room before it counts as stuck."""

_TEMPORARY = re.compile(r"\.devperf-[0-9a-f]{8}\.tmp")


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file completely or not at all; create missing folders.

    A symbolic link is kept, and the file that it refers to is written. If the path is a pipe or a device, the data is
    written into it.

    Raises:
        StoreError: It cannot be written; nothing is left behind, and the previous content is kept.
    """
    path = Path(path)
    with store_errors(path):
        if is_special(path):
            _write_into(path, data)
            return
        file = Path(os.path.realpath(path))
        with folders_made(file.parent):
            sweep(file.parent)
            replace(file, data)


def check_file(path: Path) -> None:
    """Check that a file could be written: write another one beside it, and delete that again.

    Raises:
        StoreError: It could not be written.
    """
    if is_special(path):
        return
    if path.is_dir():
        raise StoreError(f"{path} is a folder", "name a file in a folder that exists")
    if not path.parent.is_dir():
        raise StoreError(f"{path} is in {path.parent}, which is not a folder", "name a file in a folder that exists")
    with store_errors(path):
        probe_folder(Path(os.path.realpath(path)).parent)


def probe_folder(folder: Path) -> None:
    """Write a file into a folder, or into the nearest one above that exists, and delete it again.

    Raises:
        OSError: From the system.
    """
    probe = temporary_beside(next(each for each in (folder, *folder.parents) if each.exists()) / "probe")
    try:
        probe.write_bytes(b"?")
    finally:
        with suppress(OSError):
            probe.unlink()


def replace(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Replace a file in one step, safe against a crash or a full disk at any moment.

    Args:
        path: The file.
        data: Its content, or parts of it that are made while they are written.

    Raises:
        OSError: From the system; the temporary file is deleted.
    """
    temporary = temporary_beside(path)
    try:
        with temporary.open("xb") as file:
            file.writelines((data,) if isinstance(data, bytes) else data)
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
    """Return a random name for a file that is moved to its final name later."""
    return f".devperf-{secrets.token_hex(4)}.tmp"


def is_temporary(name: str) -> bool:
    """Return whether a file has such a name."""
    return _TEMPORARY.fullmatch(name) is not None


def temporary_beside(path: Path) -> Path:
    """Return a temporary path for a file or folder that replaces another one later."""
    return path.with_name(temporary_name())


def sweep(folder: Path) -> None:
    """Delete the temporary files of writers that were killed."""
    with suppress(OSError):
        names = [name for name in os.listdir(folder) if is_temporary(name)]  # noqa: PTH208 - Path objects are slower
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
def store_errors(path: Path) -> Iterator[None]:
    """Convert the system's errors when writing into a StoreError with a next step."""
    try:
        yield
    except NotADirectoryError as error:
        raise StoreError(f"{path} cannot be written (a part of the path is a file)", "name another folder") from error
    except FileExistsError as error:
        raise StoreError(f"{error.filename or path} is a file, but a folder is needed", "name another path") from error
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} cannot be written ({reason(error)})", "free space, fix its permissions, or name another path"
        ) from error


@contextmanager
def folders_made(folder: Path) -> Iterator[None]:
    """Create missing folders; if the block fails, delete them again unless they are in use.

    Raises:
        OSError: They cannot be created.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    made: list[Path] = []
    try:
        for each in reversed(missing):
            each.mkdir(exist_ok=True)
            made.append(each)
        folder.mkdir(exist_ok=True)  # raises if it is a file
        yield
    except BaseException:
        with suppress(OSError):
            for each in reversed(made):
                each.rmdir()
        raise


def sync_folder(folder: Path) -> None:
    """Make new names in a folder survive a power failure, if the system supports it."""
    with suppress(OSError):  # Windows cannot open folders; some network file systems refuse
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def reason(error: OSError | ValueError) -> str:
    """Return the system's reason for an error."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def is_special(path: Path) -> bool:
    """Return whether a path exists and is neither a file nor a folder."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _write_into(path: Path, data: bytes) -> None:
    """Write into a pipe or a device; a pipe without a reader is not waited for."""
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

"""One document in one file: read whole, written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_devperf.errors import StoreError
from pytest_devperf.record.codec import decode
from pytest_devperf.record.record import Document

TEMPORARY = ".tmp"
"""Ending of a file that is being written."""


def names_a_file(text: str) -> bool:
    """Tell whether a word of the user's means a file and not a label.

    >>> names_a_file("main"), names_a_file("main.json"), names_a_file("./main")
    (False, True, True)
    """
    separators = {os.sep, os.altsep, "/"} - {None}
    return text.endswith(".json") or any(separator in text for separator in separators if separator)


def means_a_file(word: str, folder: Path, labels: Callable[[], Container[str | None]]) -> bool:
    """Tell whether a word means a file: it looks like one, and is there or is no label that was saved.

    Args:
        word: What the user wrote.
        folder: Where relative paths begin.
        labels: Lists the labels of the store; asked only where the word looks like a file that is not there.
    """
    there = os.path.exists(os.path.join(folder, word))  # noqa: PTH110, PTH118 - any text may come, and none may raise
    return names_a_file(word) and (there or word not in labels())


def read_file(path: str | Path) -> Document:
    """Read a run document from a file.

    Raises:
        StoreError: There is no such file, or it is unreadable, foreign or damaged.
    """
    return decode(read_bytes(Path(path)), str(path))


def read_bytes(path: Path) -> bytes:
    """Read a file.

    Raises:
        StoreError: It cannot be read; it is named.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise StoreError(f"there is no file {path}", "name a run document or a label") from None
    except IsADirectoryError:
        raise StoreError(f"{path} is a folder", "name a run document in it, or use it as --devperf-store") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read ({reason(error)})", "check the path and its permissions") from error


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all; missing folders are made.

    Raises:
        StoreError: It cannot be written; nothing is left behind, and what stood there before stays.
    """
    path = Path(path)
    with told(path), folders_made(path.parent):
        replace(path, data)


def replace(path: Path, data: bytes) -> None:
    """Put bytes in a file's place in one step, safe against a crash or a full disk at any moment.

    Raises:
        OSError: As the system says; the temporary file is gone again.
    """
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


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
def folders_made(folder: Path) -> Iterator[list[Path]]:
    """Make missing folders, hand out which, and remove exactly those again where the block fails.

    Raises:
        OSError: They cannot be made.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    made: list[Path] = []
    try:
        for each in reversed(missing):
            each.mkdir(exist_ok=True)
            made.append(each)
        folder.mkdir(exist_ok=True)  # refused where it is a file
        yield made
    except BaseException:
        remove_folders(made)
        raise


def remove_folders(made: Sequence[Path]) -> None:
    """Remove folders, the innermost first; one that somebody else put something into stays."""
    with suppress(OSError):
        for each in reversed(made):
            each.rmdir()


def reason(error: OSError | ValueError) -> str:
    """Say in the system's words why a file was refused."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, where the system can do that."""
    with suppress(OSError):  # Windows opens no folders; some network file systems refuse
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

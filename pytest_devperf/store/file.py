"""Read run documents from files, and distinguish files from labels."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container
from pathlib import Path
from typing import BinaryIO

from pytest_devperf.errors import StoreError
from pytest_devperf.record.codec import decode
from pytest_devperf.record.record import Document
from pytest_devperf.store.writing import reason

MOST_BYTES = 1 << 29
"""Largest document that is read, 512 MiB: a thousand cases with all their samples take a tenth of that."""


BLOCK_BYTES = 1 << 20
"""Bytes to read at a time: `read` allocates a buffer of the requested size before it reads anything."""


def names_a_file(text: str) -> bool:
    """Return whether a user's word looks like a file and not a label.

    >>> names_a_file("main"), names_a_file("main.json"), names_a_file("./main")
    (False, True, True)
    """
    separators = {os.sep, os.altsep, "/"} - {None}
    return text.endswith(".json") or any(separator in text for separator in separators if separator)


def means_a_file(word: str, folder: Path, labels: Callable[[], Container[str | None]]) -> bool:
    """Return whether a word is a file: it looks like one, and exists or is not a saved label.

    Args:
        word: The user's word.
        folder: Base of relative paths.
        labels: Returns the labels of the store; called only if the word looks like a file that does not exist.
    """
    there = os.path.exists(os.path.join(folder, word))  # noqa: PTH110, PTH118 - accepts any text without raising
    return names_a_file(word) and (there or word not in labels())


def read_file(path: str | Path) -> Document:
    """Read a run document from a file, or from a pipe.

    Raises:
        StoreError: The file does not exist, cannot be read, is damaged, or is not a run document.
    """
    return decode(read_bytes(Path(path)), str(path))


def read_bytes(path: Path, *, regular: bool = False) -> bytes:
    """Read a file.

    Args:
        path: The file.
        regular: Whether to refuse anything but a regular file: reading a pipe would block.

    Raises:
        StoreError: It cannot be read; the message names it.
    """
    try:
        if regular and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
            raise StoreError(f"{path} is not a regular file", "move it away")
        with path.open("rb") as file:
            data = _read_most(file)
    except FileNotFoundError:
        raise StoreError(f"there is no file {path}", "name a run document or a label") from None
    except IsADirectoryError:
        raise StoreError(f"{path} is a folder", "name a run document in it, or use it as --devperf-store") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read ({reason(error)})", "check the path and its permissions") from error
    if len(data) > MOST_BYTES:
        raise StoreError(f"{path} has more than {MOST_BYTES >> 20} MiB, too many for a run", "name another file")
    return data


def _read_most(file: BinaryIO) -> bytes:
    """Read a file, but no more than is needed to see that it is too large; a regular one in one piece."""
    blocks = [file.read(min(os.fstat(file.fileno()).st_size, MOST_BYTES) + 1)]
    while sum(map(len, blocks)) <= MOST_BYTES and (block := file.read(BLOCK_BYTES)):
        blocks.append(block)
    return b"".join(blocks)

"""Reads documents from files, and tells files from labels."""

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
"""Largest document that is read, 512 MiB: a thousand cases with all their samples take a tenth of it."""


BLOCK_BYTES = 1 << 20
"""Read at a time: a buffer as large as what was asked for is taken before anything is read into it."""


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
    """Read a run document from a file, or from a pipe.

    Raises:
        StoreError: There is no such file, or it is unreadable, foreign or damaged.
    """
    return decode(read_bytes(Path(path)), str(path))


def read_bytes(path: Path, *, regular: bool = False) -> bytes:
    """Read a file.

    Args:
        path: The file.
        regular: Whether anything but a regular file is refused: a pipe would be waited for.

    Raises:
        StoreError: It cannot be read; it is named.
    """
    try:
        if regular and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
            raise StoreError(f"{path} is no regular file", "move it away")
        with path.open("rb") as file:
            data = _read_most(file)
    except FileNotFoundError:
        raise StoreError(f"there is no file {path}", "name a run document or a label") from None
    except IsADirectoryError:
        raise StoreError(f"{path} is a folder", "name a run document in it, or use it as --devperf-store") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read ({reason(error)})", "check the path and its permissions") from error
    if len(data) > MOST_BYTES:
        raise StoreError(f"{path} has more than {MOST_BYTES >> 20} MiB, which is no run document", "name another file")
    return data


def _read_most(file: BinaryIO) -> bytes:
    """Read a file, but no more than shows that it is too large."""
    blocks: list[bytes] = []
    while len(blocks) * BLOCK_BYTES <= MOST_BYTES and (block := file.read(BLOCK_BYTES)):
        blocks.append(block)
    return b"".join(blocks)

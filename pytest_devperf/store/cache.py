"""A local copy of what was read from a store, valid while the store describes the file as before."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from pytest_devperf.store.writing import replace, sweep

MOST_BYTES = 512 << 20
"""Size of the cache: some hundred runs of a large suite."""


class FileCache:
    """Files by their location and the version that the store names.

    An error only makes the cache useless: it must never lose a run.

    Args:
        folder: Where to keep them.
        most_bytes: How much to keep; the files that were not used for longest are deleted.
    """

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        """Read and write nothing yet."""
        self._folder = folder
        self._most_bytes = most_bytes

    def read(self, where: str, version: str) -> bytes | None:
        """Return a file of this version; None if it is not here."""
        path = self._path(where, version)
        with suppress(OSError):
            data = path.read_bytes()
            if data[:_DIGEST] == _digest(data[_DIGEST:]):
                os.utime(path)
                return data[_DIGEST:]
        return None

    def write(self, where: str, version: str, data: bytes) -> None:
        """Keep a file of this version."""
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            sweep(self._folder)
            replace(self._path(where, version), _digest(data) + data)
            self._drop_oldest()

    def _path(self, where: str, version: str) -> Path:
        return self._folder / hashlib.sha256(f"{where}\n{version}".encode()).hexdigest()[:32]

    def _drop_oldest(self) -> None:
        known = sorted(((each, each.stat()) for each in self._folder.iterdir()), key=lambda pair: pair[1].st_mtime)
        excess = sum(stat.st_size for _, stat in known) - self._most_bytes
        for path, stat in known:
            if excess <= 0:
                return
            path.unlink()
            excess -= stat.st_size


_DIGEST = hashlib.sha256().digest_size


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()

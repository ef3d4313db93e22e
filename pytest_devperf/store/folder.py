"""Store runs in a folder on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from pytest_devperf.errors import StoreError
from pytest_devperf.record.record import Run
from pytest_devperf.store.file import read_bytes
from pytest_devperf.store.files import README, FileStore, StorePath
from pytest_devperf.store.writing import (
    folders_made,
    probe_folder,
    reason,
    replace,
    store_errors,
    sweep,
    sync_folder,
    temporary_beside,
)

LOCK_WAIT_S = 30.0
"""A save takes well under a second; a process that holds the lock for this long is stuck."""

_LOCK = ".lock"

_IGNORED = f"{_LOCK}\n*.tmp\n"


class FolderStore(FileStore):
    """A store in a folder on this machine.

    Args:
        path: The folder; it need not exist before the first save.
        lock_wait_s: How long a save waits for another one to finish.
    """

    def __init__(self, path: str | Path, *, lock_wait_s: float = LOCK_WAIT_S) -> None:
        """Remember the path; nothing is read or written yet."""
        super().__init__()
        self.path = Path(path)
        self._lock_wait_s = lock_wait_s

    def __str__(self) -> str:
        """The path, as errors and listings show it."""
        return str(self.path)

    def check_writable(self) -> None:
        """Write a file and delete it again: in the store, or in the folder where the store would be created.

        The store itself is not created: another session may be about to create it.

        Raises:
            StoreError: It could not be written; the message gives the reason.
        """
        with store_errors(self.path):
            probe_folder(self.path)

    def folders(self, place: StorePath) -> Sequence[str]:
        """List the folders in a folder, sorted."""
        return sorted(each.name for each in self._entries(place) if each.is_dir())

    def files(self, place: StorePath) -> Sequence[str]:
        """List a folder; entries that are named like a run but are not one raise an error when they are read."""
        return [each.name for each in self._entries(place)]

    def read(self, place: StorePath) -> bytes:
        """Read a file."""
        return read_bytes(self.path.joinpath(*place), regular=True)

    def version_of(self, place: StorePath) -> str | None:
        """Return what the file system reports of a file; None if it does not exist."""
        try:
            found = self.path.joinpath(*place).stat()
        except OSError:
            return None
        return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"

    def where(self, place: StorePath) -> str:
        """Return the path of a place."""
        return str(self.path.joinpath(*place))

    def put(self, run: Run, label_folder: StorePath, *, append: bool | None) -> str:
        """Write a run while no other process writes; a failed first save leaves no store behind.

        Raises:
            StoreError: It cannot be written.
        """
        with store_errors(self.path):
            made = None if self.path.exists() else self._make_with(run, label_folder, append=append)
            return str(made or self._add(run, label_folder, append=append))

    def _make_with(self, run: Run, label_folder: StorePath, *, append: bool | None) -> Path | None:
        """Create the store with its first run in one step; return None if another session was faster."""
        with folders_made(self.path.parent):
            name, data = self.lay_out(run, append=append)
            sweep(self.path.parent)
            store = temporary_beside(self.path)
            folder = store.joinpath(*label_folder)
            try:
                folder.mkdir(parents=True)
                replace(folder / name, data)
                _furnish(store)
                (store / _LOCK).touch()
                store.rename(self.path)
            except OSError:
                if self.path.is_dir():
                    return None
                raise
            finally:
                shutil.rmtree(store, ignore_errors=True)
        sync_folder(self.path.parent)
        return self.path.joinpath(*label_folder, name)

    def _add(self, run: Run, label_folder: StorePath, *, append: bool | None) -> Path:
        """Add a run to the existing store."""
        folder = self.path.joinpath(*label_folder)
        with self.locked(), folders_made(folder):
            for each in (self.path, folder):
                sweep(each)
            name, data = self.lay_out(run, append=append)
            replace(folder / name, data)
        _furnish(self.path)
        return folder / name

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the store.

        Raises:
            StoreError: Another process does not release it.
        """
        lock = FileLock(self.path / _LOCK, timeout=self._lock_wait_s)
        try:
            lock.acquire()
        except Timeout:
            raise StoreError(
                f"{self.path} has been locked by another process for over {self._lock_wait_s:g} s",
                "wait for it, or end it if it hangs",
            ) from None
        except NotImplementedError as error:  # a network file system without locks
            raise StoreError(f"{self.path} is on a file system without locks", "name a local folder") from error
        try:
            yield
        finally:
            lock.release()

    def _entries(self, place: StorePath) -> Sequence[Path]:
        """List a folder; empty if it does not exist.

        Raises:
            StoreError: It is a file, or not readable.
        """
        folder = self.path.joinpath(*place)
        try:
            return tuple(folder.iterdir())
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreError(f"{folder} cannot be read ({reason(error)})", "name the folder of a store") from error


def _furnish(store: Path) -> None:
    """Add the notes to a new store; an error must not lose the run that was just saved."""
    for name, text in (("README.md", README), (".gitignore", _IGNORED)):
        path = store / name
        with suppress(OSError):
            if not path.exists():
                replace(path, text.encode())

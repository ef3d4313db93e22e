"""Store runs behind any URL that fsspec supports: object stores, ssh, WebDAV, memory."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pytest_devperf.errors import StoreError, UsageError
from pytest_devperf.record.record import Run
from pytest_devperf.store.files import README, FileStore, StorePath
from pytest_devperf.store.writing import ABANDONED_S, is_temporary, temporary_name

_URL = re.compile(r"(://)([^/@\s]*@)?([^?\s]*)(\?\S*)?")
"""A URL: scheme, user and password, host and path, query."""


def without_secrets(text: str) -> str:
    """Remove passwords and signatures from the URLs in a text, so that it can be printed and logged.

    >>> without_secrets("sftp://me:secret@host/runs"), without_secrets("az://runs?sig=abc&v=1")
    ('sftp://***@host/runs', 'az://runs?sig=***&v=***')
    """

    def masked(found: re.Match[str]) -> str:
        query = re.sub(r"=[^&]*", "=***", found[4] or "")
        return f"{found[1]}{'***@' if found[2] else ''}{found[3]}{query}"

    return _URL.sub(masked, text)


class RemoteStore(FileStore):
    """A store behind a URL.

    There are no locks: two saves at the same moment are both kept, each in its own generation; of two saves in one
    second, the one with the greater id counts as later. A run is written next to its final name and then moved, so
    that nobody reads an incomplete file.

    Args:
        url: As fsspec spells it: `s3://bucket/folder`, `sftp://host/folder`, `memory://folder`.

    Raises:
        UsageError: fsspec or the package for this kind of URL is not installed, or the URL is not valid.
    """

    def __init__(self, url: str) -> None:
        """Find the file system for the URL's protocol; nothing is read or written yet."""
        self.url = url.rstrip("/")
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise UsageError(
                f"the store {without_secrets(url)} needs fsspec", "install pytest-devperf[remote], or name a folder"
            ) from None
        try:
            found: tuple[Any, str] = url_to_fs(self.url)
        except (ImportError, ValueError, OSError) as error:
            raise UsageError(
                without_secrets(f"the store {url} cannot be used ({error})"), "install what it names"
            ) from None
        self._system, root = found
        self._root = root.rstrip("/")

    def __str__(self) -> str:
        """The URL without secrets, as errors and listings show it."""
        return without_secrets(self.url)

    def check_writable(self) -> None:
        """Write a file and delete it again.

        Raises:
            StoreError: It could not be written; the message gives the reason.
        """
        probe = self._at((temporary_name(),))
        with self._store_errors("written"):
            self._system.makedirs(self._root, exist_ok=True)
            self._system.pipe_file(probe, b"?")
            self._system.rm_file(probe)

    def folders(self, place: StorePath) -> Sequence[str]:
        """List the folders in a folder, sorted."""
        return sorted(name for name, kind in self._entries(place) if kind == "directory")

    def files(self, place: StorePath) -> Sequence[str]:
        """List the files in a folder."""
        return [name for name, kind in self._entries(place) if kind != "directory"]

    def read(self, place: StorePath) -> bytes:
        """Read a file.

        Raises:
            StoreError: It cannot be read.
        """
        with self._store_errors("read", place):
            data: bytes = self._system.cat_file(self._at(place))
        return data

    def where(self, place: StorePath) -> str:
        """Return the URL of a place, without secrets."""
        return "/".join((str(self), *place))

    def name_generation(self, newest: str | None, run: Run, *, append: bool) -> str:
        """Name a run's generation uniquely: two saves at the same moment both find the same newest generation."""
        name = super().name_generation(newest, run, append=append)
        return name if name == newest else f"{name}-{run.id}"

    def put(self, run: Run, label_folder: StorePath, *, append: bool | None) -> str:
        """Write a run next to its final name, then move it.

        Raises:
            StoreError: It cannot be written.
        """
        name, data = self.lay_out(run, append=append)
        place = (*label_folder, name)
        self._replace(place, data)
        self._sweep(label_folder)
        with suppress(StoreError):  # an error must not lose the run that was just saved
            if "README.md" not in self.files(()):
                self._replace(("README.md",), README.encode())
        return self.where(place)

    def _replace(self, place: StorePath, data: bytes) -> None:
        *folders, _ = place
        temporary = self._at((*folders, temporary_name()))
        with self._store_errors("written", place):
            self._system.makedirs(self._at(tuple(folders)), exist_ok=True)
            try:
                self._system.pipe_file(temporary, data)
                self._system.mv(temporary, self._at(place))
            except BaseException:
                with suppress(Exception):
                    self._system.rm_file(temporary)
                raise

    def _sweep(self, label_folder: StorePath) -> None:
        """Delete temporary files of writers that were killed, if the file system reports the age of files."""
        for name in self.files(label_folder):
            if is_temporary(name):
                with suppress(Exception):  # an error must not lose the run that was just saved
                    age_s = time.time() - self._system.modified(self._at((*label_folder, name))).timestamp()
                    if age_s > ABANDONED_S:
                        self._system.rm_file(self._at((*label_folder, name)))

    def _entries(self, place: StorePath) -> Sequence[tuple[str, str]]:
        """List a folder as (name, kind); empty if it does not exist."""
        folder = self._at(place)
        with self._store_errors("read", place):
            self._system.invalidate_cache()  # others write there too
            try:
                found = self._system.ls(folder, detail=True)
            except FileNotFoundError:
                return ()
        names = [(str(each["name"]).rstrip("/"), str(each["type"])) for each in found]
        # An object store lists a marker for the folder itself among its contents.
        return [(name.rpartition("/")[2], kind) for name, kind in names if name.strip("/") != folder.strip("/")]

    def _at(self, place: StorePath) -> str:
        return "/".join((self._root, *place))

    @contextmanager
    def _store_errors(self, what: str, place: StorePath = ()) -> Iterator[None]:
        """Convert any error of a file system into a StoreError with a next step."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a file system may raise anything
            words = without_secrets(str(error) or type(error).__name__)
            raise StoreError(
                f"{self.where(place)} cannot be {what} ({words})", "check the URL, the network and your credentials"
            ) from None  # the original message may contain secrets

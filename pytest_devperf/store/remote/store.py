"""Store runs behind any URL that fsspec supports: object stores, ssh, WebDAV, memory."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from msgspec.json import encode as encode_json
from msgspec.structs import replace as changed

from pytest_devperf.errors import StoreError, UsageError
from pytest_devperf.record.codec import encode
from pytest_devperf.record.outline import RunHead
from pytest_devperf.record.record import Document, Run
from pytest_devperf.store.cache import FileCache
from pytest_devperf.store.files import README, FileStore, StorePath
from pytest_devperf.store.naming import age_of
from pytest_devperf.store.remote.index import INDEX, IndexEntry, decode_entry, entry_name, next_entry, number_of
from pytest_devperf.store.remote.requests import persist, without_secrets
from pytest_devperf.store.writing import ABANDONED_S, is_temporary, temporary_name
from pytest_devperf.targets.host.cache import cache_folder

WHOLE = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "memory"})
"""Protocols whose files appear only once they are written completely."""


MOST_CLAIMS = 1000
"""Saves that may come between a save and its number; more are a server that refuses everything."""


class RemoteStore(FileStore):
    """A store behind a URL.

    Saves are ordered by the numbers of an index, without a lock. A run appears completely or not at all.

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
        self._is_whole = url.partition(":")[0].lower() in WHOLE
        super().__init__()
        self._cache = FileCache(cache_folder() / "runs")
        self._versions: dict[StorePath, str] = {}
        """The server's versions of files, when they were last listed."""

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
            persist(lambda: self._system.makedirs(self._root, exist_ok=True))
            persist(lambda: self._system.pipe_file(probe, b"?"))
            persist(lambda: self._system.rm_file(probe))

    def folders(self, place: StorePath) -> Sequence[str]:
        """List the folders in a folder, sorted."""
        return sorted(name for name, kind in self._entries(place) if kind == "directory")

    def files(self, place: StorePath) -> Sequence[str]:
        """List the files in a folder."""
        return [name for name, kind in self._entries(place) if kind != "directory"]

    def read(self, place: StorePath) -> bytes:
        """Read a file; from the cache if the server still has this version of it.

        Raises:
            StoreError: It cannot be read.
        """
        where, version = self._system.unstrip_protocol(self._at(place)), self._versions.get(place)
        known = self._cache.read(where, version) if version is not None else None
        if known is not None:
            return known
        with self._store_errors("read", place):
            data: bytes = persist(lambda: self._system.cat_file(self._at(place)))
        if version is not None:
            self._cache.write(where, version, data)
        return data

    def head_of(self, place: StorePath) -> RunHead:
        """Read what a listing needs of a run: from the index, or from the run itself.

        Raises:
            StoreError: It is damaged, or not a run.
        """
        *label_folder, name = place
        for number in reversed(self._numbers(tuple(label_folder))):
            entry = self._read_entry(tuple(label_folder), number)
            if entry is not None and entry.file == name:
                return entry.head
            if entry is not None and entry.file < name:
                break  # entries are in the order of file names
        return super().head_of(place)

    def version_of(self, place: StorePath) -> str | None:
        """Return the server's version of a file, when it was last listed."""
        return self._versions.get(place)

    def where(self, place: StorePath) -> str:
        """Return the URL of a place, without secrets."""
        return "/".join((str(self), *place))

    def put(self, run: Run, label_folder: StorePath, *, append: bool | None) -> str:
        """Claim the next number of the label's index, and write the run.

        Raises:
            StoreError: It cannot be written.
        """
        entry = self._claim(run, label_folder, append=append)
        place = (*label_folder, entry.file)
        self._replace(place, encode(Document(runs=(changed(run, generation=entry.head.generation),))))
        self._sweep(label_folder)
        with suppress(StoreError):  # an error must not lose the run that was just saved
            if "README.md" not in self.files(()):
                self._replace(("README.md",), README.encode())
        return self.where(place)

    # -- the index of a label -------------------------------------------------------------------------

    def _claim(self, run: Run, label_folder: StorePath, *, append: bool | None) -> IndexEntry:
        """Create the next entry of a label's index; of several saves at the same moment each gets its own."""
        listed = max((name for name in self.files(label_folder) if age_of(name)), key=_age, default=None)
        number = max(self._numbers(label_folder), default=0)
        newest = self._read_entry(label_folder, number) if number else None
        is_behind = newest is None or _age(newest.file) < _age(listed or "")  # other versions save without an index
        if is_behind and append is not None and listed is not None:
            newest = IndexEntry(file=listed, head=self._head_before(run, (*label_folder, listed), append=append))
        claim = secrets.token_hex(8)
        for _ in range(MOST_CLAIMS):
            number += 1
            entry = next_entry(run, newest, listed, append=append, claim=claim)
            other = self._create(entry, label_folder, number)
            if other is None or other.claim == claim:
                return entry
            newest = other
        raise StoreError(f"{self.where(label_folder)} accepts no new run", "check the server, and save again")

    def _head_before(self, run: Run, place: StorePath, *, append: bool) -> RunHead:
        """Read the newest run of a store without an index; a damaged one is joined by no run."""
        try:
            return super().head_of(place)
        except StoreError:
            if append:
                raise
            return RunHead(taken_at=run.taken_at, device=run.device)

    def _create(self, entry: IndexEntry, label_folder: StorePath, number: int) -> IndexEntry | None:
        """Create an entry unless its number is taken; then return the entry that has it.

        The server may have created it although its answer was lost: then it is found to be ours.
        """
        place = (*label_folder, INDEX, entry_name(number))
        with self._store_errors("written", place):
            try:
                persist(lambda: self._system.makedirs(self._at(place[:-1]), exist_ok=True))
                self._create_file(place, encode_json(entry))
            except FileExistsError:
                other = self._read_entry(label_folder, number)
                return other if other is not None else changed(entry, claim="")
        return None

    def _create_file(self, place: StorePath, data: bytes) -> None:
        """Create a file.

        Raises:
            FileExistsError: It exists.
        """
        try:
            persist(lambda: self._system.pipe_file(self._at(place), data, mode="create"))
        except TypeError:  # a package that cannot: its server has no conditional writes, or it is too old
            if self._system.exists(self._at(place)):
                raise FileExistsError(self._at(place)) from None
            persist(lambda: self._system.pipe_file(self._at(place), data))

    def _numbers(self, label_folder: StorePath) -> list[int]:
        """List the numbers of a label's index, in order."""
        names = self.files((*label_folder, INDEX))
        return sorted(number for name in names if (number := number_of(name)) is not None)

    def _read_entry(self, label_folder: StorePath, number: int) -> IndexEntry | None:
        return decode_entry(self.read((*label_folder, INDEX, entry_name(number))))

    # -- requests -----------------------------------------------------------------------------------

    def _replace(self, place: StorePath, data: bytes) -> None:
        *folders, _ = place
        with self._store_errors("written", place):
            persist(lambda: self._system.makedirs(self._at(tuple(folders)), exist_ok=True))
            if self._is_whole:
                persist(lambda: self._system.pipe_file(self._at(place), data))
                return
            temporary = self._at((*folders, temporary_name()))
            try:
                persist(lambda: self._system.pipe_file(temporary, data))
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
                found = persist(lambda: self._system.ls(folder, detail=True))
            except FileNotFoundError:
                return ()
        versions = {(*place, str(each["name"]).rpartition("/")[2]): _version_of(each) for each in found}
        self._versions.update({path: version for path, version in versions.items() if version is not None})
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


def _version_of(info: Mapping[str, Any]) -> str | None:
    """Return the server's version of a file, its hash or its time; None if it reports neither."""
    versions = (
        info.get(key) for key in ("ETag", "etag", "md5Hash", "content_md5", "mtime", "modified", "LastModified")
    )
    version = next((each for each in versions if each), None)
    return None if version is None else f"{version} {info.get('size')}"


def _age(name: str) -> tuple[str, int]:
    return age_of(name) or ("", 0)

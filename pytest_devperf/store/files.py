"""Store runs as files, on any file system whose files can be listed, read and written.

`<kind>-<model>-<fingerprint>/<label>/<time>-<id>.json`: the names help people to find a run. The content of a file
decides; if its name contradicts it, the run is refused. Files that are not named like a run (editor
backups, notes, half-written temporary files) are ignored.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace as changed

from pytest_devperf.english import counted
from pytest_devperf.errors import StoreError
from pytest_devperf.record.codec import decode, decode_heads, decode_outlines, encode_outline, encode_parts
from pytest_devperf.record.outline import RunHead, RunOutline
from pytest_devperf.record.record import Document, Run
from pytest_devperf.store.cache import FileCache
from pytest_devperf.store.generation import next_generation
from pytest_devperf.store.naming import age_of, device_name, file_name, safe_name
from pytest_devperf.store.store import LabelSummary
from pytest_devperf.targets.host.cache import cache_folder

StorePath = tuple[str, ...]
"""Names of folders, and possibly a file, relative to the store's folder."""

OUTLINES = "outlines-1"
"""Folder of the cache of outlines; another number once they have other fields."""

README = """\
# Performance runs

Kept by pytest-devperf: one JSON file per run, `<device>/<label>/<time>-<id>.json`, with every raw sample.

Should this folder be committed?

* Yes, if the same devices are used by everybody who compares: a lab phone, a fixed CI machine. Baselines
  then stay with their code. Files are only ever added, so branches merge without conflict.
* No, if everybody compares on their own machine: add the folder to `.gitignore`. Runs of another
  device are never compared with yours, and raw samples make the repository grow.

Deleting a file forgets that run, deleting a folder forgets the label. `devperf list` shows what is here.
"""


class FileStore(ABC):
    """Common base of all stores that consist of files."""

    def __init__(self) -> None:
        """Prepare the cache of outlines; nothing is read or written yet."""
        self._outlines = FileCache(cache_folder() / OUTLINES)

    @abstractmethod
    def check_writable(self) -> None:
        """Check before anything is measured that a run could be saved; leave no trace.

        Raises:
            StoreError: It could not be saved; the message gives the reason.
        """

    @abstractmethod
    def folders(self, place: StorePath) -> Sequence[str]:
        """List the folders in a folder, sorted; empty if it does not exist."""

    @abstractmethod
    def files(self, place: StorePath) -> Sequence[str]:
        """List the files in a folder; empty if it does not exist."""

    @abstractmethod
    def read(self, place: StorePath) -> bytes:
        """Read a file.

        Raises:
            StoreError: It cannot be read.
        """

    @abstractmethod
    def version_of(self, place: StorePath) -> str | None:
        """Return what changes if a file changes; None if that is not known."""

    @abstractmethod
    def put(self, run: Run, label_folder: StorePath, *, append: bool | None) -> str:
        """Write a run into a folder, completely or not at all, as `lay_out` prepares it, and return its location.

        Args:
            run: The run.
            label_folder: The folder.
            append: Whether it joins the newest generation; None: it already has one.

        Raises:
            StoreError: It cannot be written; nothing is left behind.
        """

    @abstractmethod
    def where(self, place: StorePath) -> str:
        """Format a place for errors and listings."""

    def save(self, run: Run) -> str:
        """Save a run as the newest of its label, whatever the clock shows, and return its location.

        Raises:
            StoreError: It has no label, or cannot be written; nothing is left behind.
        """
        return self._keep(run, append=None)

    def save_in_generation(self, run: Run, *, append: bool) -> str:
        """Save a run in a new generation of its label, or with `append` in the newest one.

        Raises:
            StoreError: It has no label, cannot be written, or the generation to join cannot be read.
        """
        return self._keep(run, append=append)

    def _keep(self, run: Run, *, append: bool | None) -> str:
        label = run.label
        if not label:
            raise StoreError("a run without a label cannot be saved", "name one with --devperf-save LABEL")
        if label != label.encode(errors="replace").decode():  # bytes from a command line that are not UTF-8
            raise StoreError(f"the label {label!a} is not valid UTF-8", "choose another with --devperf-save LABEL")
        run = changed(run, id=run.id or secrets.token_hex(4))
        file_name(run, None)  # raises before anything is written
        return self.put(run, (device_name(run.device), safe_name(label)), append=append)

    def lay_out(self, run: Run, *, append: bool | None) -> tuple[str, Iterable[bytes]]:
        """Name a run's file after the existing ones of its label, and encode the run with its generation, in parts.

        A store calls it while nobody else writes, if possible.

        Raises:
            StoreError: The generation to join cannot be read; from the parts, that the run cannot be encoded.
        """
        places = self.places(run.device.fingerprint, run.label or "")
        if append is not None:
            newest = self._generation_at(places[0], needed=append) if places else None
            run = changed(run, generation=next_generation(newest, run.taken_at, append=append))
        return file_name(run, places[0][-1] if places else None), encode_parts(Document(runs=(run,)))

    def _generation_at(self, place: StorePath, *, needed: bool) -> str | None:
        """Read the generation of a stored run; None if the file is damaged, unless it is needed."""
        try:
            return self.head_of(place).generation
        except StoreError:
            if needed:
                raise
            return None

    def label_summaries(self) -> Sequence[LabelSummary]:
        """List devices and labels, sorted; empty if the store does not exist yet.

        Raises:
            StoreError: The newest run of a label is damaged, not a run, or in the wrong folder; the message names it.
        """
        found: dict[tuple[str, str], LabelSummary] = {}
        for place, count in self._newest():
            head = self.head_of(place)
            self.check_place(head, place)
            key = head.device.fingerprint, head.label or ""
            other = found.get(key)  # a device has two folders if one was renamed
            found[key] = LabelSummary(
                device=head.device,
                label=key[1],
                runs=count + (other.runs if other else 0),
                newest=max(head.taken_at, other.newest if other else ""),
            )
        return tuple(
            sorted(
                found.values(),
                key=lambda each: (each.device.kind, each.device.model or "", each.device.fingerprint, each.label),
            )
        )

    def runs(self, fingerprint: str, label: str, *, newest: bool = False) -> Sequence[Run]:
        """Read the runs of a label of a device, newest first.

        Args:
            fingerprint: The device.
            label: The label.
            newest: Whether to read only the newest generation.

        Raises:
            StoreError: A file is damaged or not a run; the message names it. An older run never replaces it.
        """
        found: list[Run] = []
        for place in self.places(fingerprint, label):
            if newest and found:
                generation = self.head_of(place).generation
                if generation is None or generation != found[0].generation:
                    break
            found.append(self._run_at(place, fingerprint, label))
        return tuple(found)

    def some_runs(self, fingerprint: str, label: str, ids: Collection[str]) -> Iterator[Run]:
        """Read those runs of a label of a device that have one of the ids, one by one, newest first.

        Raises:
            StoreError: A file is damaged or not a run; the message names it.
        """
        for place in self.places(fingerprint, label):
            if self._outline_at(place, fingerprint, label).id in ids:
                yield self._run_at(place, fingerprint, label)

    def _run_at(self, place: StorePath, fingerprint: str, label: str) -> Run:
        path = self.where(place)
        run = _only(decode(self.read(place), path).runs, path)
        if (run.device.fingerprint, run.label) != (fingerprint, label):
            raise _misplaced(path)
        return run

    def outlines(self, fingerprint: str, label: str) -> Iterator[RunOutline]:
        """Read the runs of a label of a device without their samples, one by one, newest first.

        Raises:
            StoreError: A file is damaged or not a run; the message names it.
        """
        for place in self.places(fingerprint, label):
            yield self._outline_at(place, fingerprint, label)

    def _outline_at(self, place: StorePath, fingerprint: str, label: str) -> RunOutline:
        """Read an outline: from the cache, as long as the file is as it was, else from the run."""
        path, version = self.where(place), self.version_of(place)
        known = self._outlines.read(path, version) if version is not None else None
        if known is not None:
            with suppress(StoreError):  # of another version of this package
                return _only(decode_outlines(known, path), path)
        outline = _only(decode_outlines(self.read(place), path), path)
        if (outline.device.fingerprint, outline.label) != (fingerprint, label):
            raise _misplaced(path)
        if version is not None:
            self._outlines.write(path, version, encode_outline(outline))
        return outline

    def places(self, fingerprint: str, label: str) -> Sequence[StorePath]:
        """List the files of a label of a device, newest first."""
        ending = f"-{safe_name(fingerprint)}"
        label_folders = ((device, safe_name(label)) for device in self.folders(()) if device.endswith(ending))
        return sorted(
            (place for label_folder in label_folders for place in self.places_in(label_folder)),
            key=_age,
            reverse=True,
        )

    def head_of(self, place: StorePath) -> RunHead:
        """Read what a listing needs of a run.

        Raises:
            StoreError: It is damaged, or not a run.
        """
        return _only(decode_heads(self.read(place), self.where(place)), self.where(place))

    def check_place(self, head: RunHead | Run, place: StorePath) -> None:
        """Refuse a run that a search for its device and label would not find.

        Raises:
            StoreError: Its folders name another device or label.
        """
        device, label, _ = place
        named = safe_name(head.label) if head.label else None
        if label != named or not device.endswith(f"-{safe_name(head.device.fingerprint)}"):
            raise _misplaced(self.where(place))

    def _newest(self) -> Iterator[tuple[StorePath, int]]:
        """Find the newest file of every label of every device, and the number of files."""
        for device in self.folders(()):
            for label in self.folders((device,)):
                files = self.places_in((device, label))
                if files:
                    yield files[0], len(files)

    def places_in(self, label_folder: StorePath) -> Sequence[StorePath]:
        """List the runs of a label's folder, newest first."""
        return sorted(
            ((*label_folder, name) for name in self.files(label_folder) if age_of(name)), key=_age, reverse=True
        )


_One = TypeVar("_One", Run, RunHead, RunOutline)


def _only(runs: Sequence[_One], where: str) -> _One:
    """Return the single run of a stored file.

    Raises:
        StoreError: It contains none or several.
    """
    if len(runs) != 1:
        raise StoreError(
            f"{where} contains {counted(len(runs), 'run')}, but should contain one", "move it out of the store"
        )
    return runs[0]


def _misplaced(path: str) -> StoreError:
    return StoreError(
        f"{path} contains a run of another device or label than its folders name", "move it back or delete it"
    )


def _age(place: StorePath) -> tuple[str, int]:
    return age_of(place[-1]) or ("", 0)

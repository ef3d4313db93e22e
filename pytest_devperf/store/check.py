"""Examine a store: files that no reader accepts, and what killed saves left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from pytest_devperf.errors import StoreError
from pytest_devperf.record.codec import decode
from pytest_devperf.record.record import Run
from pytest_devperf.store.files import FileStore, StorePath
from pytest_devperf.store.naming import age_of
from pytest_devperf.store.remote.index import INDEX, decode_entry, number_of
from pytest_devperf.store.writing import is_temporary

Kind = Literal["damaged", "leftover", "ignored"]
"""`damaged`: a reader refuses it. `leftover`: of a save that was killed. `ignored`: nobody reads it."""

OWN_FILES = frozenset({"README.md", ".gitignore", ".lock"})
"""Files of the store itself, in its folder."""

_MEND = "restore it from a copy, or delete it"

_LEFTOVER = "a later save deletes it once it is an hour old; delete it yourself if no save is running"


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that is not as it should be."""

    where: str
    kind: Kind
    problem: str
    """What is wrong, and what to do."""


@dataclass(slots=True, kw_only=True)
class Examined:
    """What was found in a store."""

    runs: int = 0
    """Runs that can be read."""
    labels: int = 0
    devices: int = 0
    faults: list[Fault] = field(default_factory=list)

    @property
    def damaged(self) -> int:
        """How many files a reader refuses."""
        return sum(1 for fault in self.faults if fault.kind == "damaged")


def examine(store: FileStore) -> Examined:
    """Read every file of a store.

    Raises:
        StoreError: It cannot be listed.
    """
    found = Examined()
    found.faults += _strangers(store, (), OWN_FILES)
    for device in store.folders(()):
        if is_temporary(device):
            continue  # reported with the files
        found.devices += 1
        found.faults += _strangers(store, (device,), frozenset())
        for label in store.folders((device,)):
            found.labels += 1
            _examine_label(store, (device, label), found)
    return found


def _strangers(store: FileStore, folder: StorePath, known: frozenset[str]) -> Iterator[Fault]:
    """Return the files of a folder that contains only folders."""
    folders = {name for name in store.folders(folder) if not is_temporary(name)}
    for name in sorted({*store.files(folder), *store.folders(folder)} - known - folders):
        yield _stranger(store, (*folder, name))


def _stranger(store: FileStore, place: StorePath) -> Fault:
    if is_temporary(place[-1]):
        return Fault(store.where(place), "leftover", f"half written by a save that was killed: {_LEFTOVER}")
    return Fault(store.where(place), "ignored", "is not named like a run and is not read: move it out of the store")


def _examine_label(store: FileStore, folder: StorePath, found: Examined) -> None:
    ids: dict[str, str] = {}
    inner = set(store.folders(folder))
    for name in sorted({*store.files(folder)} - inner):
        place = (*folder, name)
        if age_of(name) is None:
            found.faults.append(_stranger(store, place))
            continue
        problem = _problem_of_run(store, place, ids)
        if problem is None:
            found.runs += 1
        else:
            found.faults.append(Fault(store.where(place), "damaged", problem))
    for name in sorted(inner):
        if name == INDEX:
            found.faults += _faults_of_index(store, (*folder, INDEX))
        else:
            found.faults.append(_stranger(store, (*folder, name)))


def _problem_of_run(store: FileStore, place: StorePath, ids: dict[str, str]) -> str | None:
    """Describe why no reader accepts a run, and what to do; None if it is sound.

    Args:
        store: The store.
        place: The file.
        ids: Ids of the label's runs, and their files; the run's is added.
    """
    where = store.where(place)
    runs: tuple[Run, ...] = ()
    try:
        runs = decode(store.read(place), where).runs
        if len(runs) == 1:
            store.check_place(runs[0], place)
    except StoreError as error:
        step = error.next_step if "version" in error.what or len(runs) else _MEND
        return f"{error.what.removeprefix(f'{where} ')}: {step}"
    if len(runs) != 1:
        return f"contains {len(runs)} runs instead of one: move it out of the store"
    other = ids.setdefault(runs[0].id, place[-1])
    if other != place[-1]:
        return f"contains the same run as {other}: delete one of them"
    return None


def _faults_of_index(store: FileStore, folder: StorePath) -> Iterator[Fault]:
    for name in sorted(store.files(folder)):
        place = (*folder, name)
        if number_of(name) is None:
            yield _stranger(store, place)
        elif decode_entry(store.read(place)) is None:
            yield Fault(
                store.where(place), "leftover", "is an incomplete entry of the index, which is skipped: delete it"
            )

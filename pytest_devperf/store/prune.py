"""Choose and delete runs that nobody needs any more."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pytest_devperf.errors import StoreError
from pytest_devperf.record.outline import RunHead
from pytest_devperf.store.files import StorePath
from pytest_devperf.store.folder import FolderStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """The runs that may be deleted; those of a label's newest generation only if `keep` is 0."""

    labels: Collection[str] = ()
    """Labels; empty: all."""
    device: str = ""
    """Beginning of the device's fingerprint; empty: every device."""
    keep: int | None = None
    """Newest runs of each label of each device to keep; None: the number does not matter."""
    before: str | None = None
    """Only runs that were taken earlier than this, in UTC; None: the time does not matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unneeded:
    """A run that may be deleted."""

    place: StorePath
    head: RunHead


def find_unneeded(store: FolderStore, which: Which) -> Sequence[Unneeded]:
    """Find the runs to delete, the newest of each label first.

    Raises:
        StoreError: A file is damaged: whether it is needed is not known.
    """
    return [
        each
        for device in store.folders(())
        for label in store.folders((device,))
        for each in _of_label(store, device, label, which)
    ]


def _of_label(store: FolderStore, device: str, label: str, which: Which) -> Iterator[Unneeded]:
    places = store.places_in((device, label))
    if not places:
        return
    newest = store.head_of(places[0])
    known_label = not which.labels or newest.label in which.labels
    if not known_label or not newest.device.fingerprint.startswith(which.device):
        return
    for nth, place in enumerate(places):
        head = store.head_of(place)
        if head.generation == newest.generation and which.keep != 0:
            continue
        if (which.keep is None or nth >= which.keep) and (which.before is None or head.taken_at < which.before):
            yield Unneeded(place=place, head=head)


def delete(store: FolderStore, unneeded: Sequence[Unneeded]) -> None:
    """Delete runs while nobody saves one, and folders that are empty then.

    Raises:
        StoreError: One cannot be deleted; those before it are gone.
    """
    with store.locked():
        for each in unneeded:
            path = store.path.joinpath(*each.place)
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(f"{path} cannot be deleted ({error.strerror})", "check its permissions") from error
        for folder in {store.path.joinpath(*each.place[:-1]) for each in unneeded}:
            with suppress(OSError):  # it contains other runs
                folder.rmdir()
                folder.parent.rmdir()

"""What every store can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_devperf.record.record import DeviceRecord, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The runs of one label of one device."""

    device: DeviceRecord
    label: str
    runs: int
    newest: str
    """`taken_at` of the newest run."""


class Store(Protocol):
    """A place that keeps runs by device and label."""

    def save(self, run: Run) -> str:
        """Keep a run for good and tell where it lies.

        Raises:
            StoreError: It cannot be written; nothing that was there before is harmed.
        """
        ...

    def shelves(self) -> Sequence[Shelf]:
        """List what there is, devices and labels sorted; empty where the store does not exist yet."""
        ...

    def runs(self, fingerprint: str, label: str) -> Sequence[Run]:
        """Read the runs of a label of a device, newest first, every one validated.

        Raises:
            StoreError: A file is corrupt or foreign; it is named. An older run never takes its place.
        """
        ...

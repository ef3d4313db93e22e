"""What every store can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pytest_devperf.record.record import DeviceRecord, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSummary:
    """The runs of one label of one device."""

    device: DeviceRecord
    label: str
    runs: int
    newest: str
    """`taken_at` of the newest run."""


class Store(Protocol):
    """A place that keeps runs by device and label."""

    def check_writable(self) -> None:
        """Find out before anything is measured whether a run could be kept; leaves no trace.

        Raises:
            StoreError: It could not, and why.
        """
        ...

    def save(self, run: Run) -> str:
        """Keep a run for good and tell where it lies.

        Raises:
            StoreError: It cannot be written; nothing that was there before is harmed.
        """
        ...

    def label_summaries(self) -> Sequence[LabelSummary]:
        """List what there is, devices and labels sorted; empty where the store does not exist yet."""
        ...

    def runs(self, fingerprint: str, label: str, *, newest: bool = False) -> Sequence[Run]:
        """Read the runs of a label of a device, newest first, every one validated.

        Args:
            fingerprint: The device.
            label: The label.
            newest: Whether only the newest generation is wanted; older ones need not be read then.

        Raises:
            StoreError: A file is corrupt or foreign; it is named. An older run never takes its place.
        """
        ...


@runtime_checkable
class GenerationStore(Protocol):
    """A store that finds out a run's generation in the moment of saving, while nobody else writes.

    For another store the generation is found out before the save, which two sessions may do at the same time.
    """

    def save_in_generation(self, run: Run, *, append: bool) -> str:
        """Keep a run as `save` does, whatever generation it names.

        Args:
            run: The run.
            append: Whether it joins the newest generation of its label, if there is one; else it starts a new one.

        Raises:
            StoreError: It cannot be written, or the generation to join cannot be read.
        """
        ...

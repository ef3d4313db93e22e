"""The interface of a store."""

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
        """Check before anything is measured that a run could be saved; leave no trace.

        Raises:
            StoreError: It could not be saved; the message gives the reason.
        """
        ...

    def save(self, run: Run) -> str:
        """Save a run and return its location.

        Raises:
            StoreError: It cannot be written; everything saved before is unchanged.
        """
        ...

    def label_summaries(self) -> Sequence[LabelSummary]:
        """List devices and labels, sorted; empty if the store does not exist yet."""
        ...

    def runs(self, fingerprint: str, label: str, *, newest: bool = False) -> Sequence[Run]:
        """Read and validate the runs of a label of a device, newest first.

        Args:
            fingerprint: The device.
            label: The label.
            newest: Whether only the newest generation is needed; older ones need not be read then.

        Raises:
            StoreError: A file is damaged or not a run; the message names it. An older run never replaces it.
        """
        ...


@runtime_checkable
class GenerationStore(Protocol):
    """A store that determines a run's generation while it saves the run, when nobody else writes.

    For any other store the generation is determined before the save, and two sessions may choose the same one.
    """

    def save_in_generation(self, run: Run, *, append: bool) -> str:
        """Save a run as `save` does, but determine its generation.

        Args:
            run: The run.
            append: Whether it joins the newest generation of its label, if there is one; otherwise it starts a new one.

        Raises:
            StoreError: It cannot be written, or the generation to join cannot be read.
        """
        ...

"""The memory of this process around one workload."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_devperf.target.target import Memory

if TYPE_CHECKING:
    from pytest_devperf.sensor.memory import PeakMemory


class Footprint:
    """Sizes from before a workload is brought up to after it is taken down.

    Made just before the workload is brought up: that is the baseline, and from there the peak counts.
    """

    def __init__(self) -> None:
        self._gauge: PeakMemory | None = None
        self._baseline: int | None = None
        self._loaded: int | None = None
        try:
            from pytest_devperf.sensor.memory import PeakMemory
        except ModuleNotFoundError:
            return
        gc.collect()  # what earlier tests left behind must not be freed, and so counted, in the middle
        self._gauge = PeakMemory()
        self._gauge.reset()
        self._baseline = self._gauge.rss_bytes()

    def note_loaded(self) -> None:
        """Read the size with the workload up."""
        self._loaded = None if self._gauge is None else self._gauge.rss_bytes()

    def take(self, run: Callable[[], object], dispose: Callable[[], object]) -> Memory | None:
        """Run, read the peak, take the workload down, read again; None where sizes cannot be read."""
        if self._gauge is None:
            return None
        run()
        peak = self._gauge.peak_bytes()
        dispose()
        gc.collect()
        disposed = self._gauge.rss_bytes()
        if self._baseline is None or peak is None:
            return None
        return Memory(baseline=self._baseline, loaded=self._loaded, peak=peak, disposed=disposed)

    def close(self) -> None:
        """Give the gauge's files back."""
        if self._gauge is not None:
            self._gauge.close()

"""The memory of this process around one workload."""

from __future__ import annotations

import gc
from collections.abc import Callable

from pytest_devperf.sensor.memory import PeakMemory
from pytest_devperf.target.target import Memory


class Footprint:
    """Sizes from before a workload is brought up to after it is taken down.

    Made just before the workload is brought up: that is the baseline.

    Args:
        whole: Whether bringing up counts towards the peak (a model's load needs more than the loaded model).
            Otherwise the peak counts from the memory pass on, and whoever else watches this process's peak
            is left alone. Where the kernel keeps no peak it counts from the memory pass on, too: a thread
            that samples must not run beside timed rounds.
    """

    def __init__(self, *, whole: bool) -> None:
        gc.collect()  # what earlier tests left behind must not be freed, and so counted, in the middle
        self._gauge = PeakMemory()
        self._counting = whole
        if whole:
            self._gauge.reset()
            if self._gauge.sampling:
                self._gauge.close()
                self._counting = False
        self._baseline = self._gauge.rss_bytes()
        self._loaded: int | None = None

    def note_loaded(self) -> None:
        """Read the size with the workload up."""
        self._loaded = self._gauge.rss_bytes()

    def take(self, run: Callable[[], object], dispose: Callable[[], object]) -> Memory:
        """Take the memory pass: run, read the peak, take the workload down, read again."""
        self.begin()
        run()
        return self.end(dispose)

    def begin(self) -> None:
        """Begin the memory pass."""
        if not self._counting:
            self._gauge.reset()

    def end(self, dispose: Callable[[], object]) -> Memory:
        """Read the peak, take the workload down, read again."""
        peak = self._gauge.peak_bytes()
        dispose()
        gc.collect()
        return Memory(
            baseline=self._baseline,
            loaded=self._loaded,
            peak=max(peak, self._loaded or 0),
            disposed=self._gauge.rss_bytes(),
        )

    def close(self) -> None:
        """End what still watches."""
        self._gauge.close()

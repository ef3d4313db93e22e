"""The memory of this process and its children before, during and after one workload."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable

from pytest_devperf.sensor.host.memory import PeakMemory
from pytest_devperf.targets.host.memory.children import ChildrenMemory
from pytest_devperf.targets.protocol import Memory


class Footprint:
    """Memory from before a workload is loaded until after it is unloaded.

    Create it just before the workload is loaded: that is the baseline. Create it only in a process start that
    measures memory, since garbage collection takes long in a process with many objects.
    """

    def __init__(self) -> None:
        gc.collect()  # otherwise garbage of earlier tests would be freed, and counted, during the measurement
        self._gauge = PeakMemory()
        self.children = ChildrenMemory(os.getpid())
        self._gauge.reset()
        self._baseline = self._size()
        self._loaded: int | None = None
        self._peak = 0

    def note_loaded(self) -> None:
        """Read size and peak with the workload loaded; stop the thread that samples the peak, if there is one."""
        self._peak = self._gauge.peak_bytes()
        self._loaded = self._size()

    def take(self, run: Callable[[], object], dispose: Callable[[], object]) -> Memory:
        """Run, read the peak, unload the workload, and read the size again."""
        self.resume()
        run()
        return self.end(dispose)

    def resume(self) -> None:
        """Sample the peak again, if that takes a thread."""
        if not self._gauge.keeps_peak:
            self._gauge.reset()

    def end(self, dispose: Callable[[], object]) -> Memory:
        """Read the peak, unload the workload, and read the size again."""
        self._peak = max(self._peak, self._gauge.peak_bytes())
        dispose()
        gc.collect()
        return self._memory(self._size())

    def begin_growth(self) -> None:
        """Read the size before a workload is repeated."""
        gc.collect()
        self._before = self._size()

    def end_growth(self) -> Memory:
        """Read the memory that the repetitions left behind, for a call whose first result is kept.

        The peak is that of the first call: later calls create a second result beside the one that is kept.
        """
        gc.collect()
        return self._memory(self._baseline + self._size() - self._before)

    def close(self) -> None:
        """Stop sampling."""
        self._gauge.close()

    def _memory(self, disposed: int) -> Memory:
        return Memory(
            baseline=self._baseline,
            loaded=self._loaded,
            peak=max(self._peak + self.children.peak_bytes, self._loaded or 0),
            disposed=disposed,
            unseen_children=self.children.unseen,
        )

    def _size(self) -> int:
        return self._gauge.rss_bytes() + self.children.size_bytes()

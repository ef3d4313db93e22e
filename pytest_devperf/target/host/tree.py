"""The memory of a program and all that it starts."""

from __future__ import annotations

from pytest_devperf.sensor.memory import MemoryReader


class TreeMemory:
    """The peak of a program and its descendants, looked at while they live.

    Args:
        pid: Process id of the program.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._readers: dict[int, MemoryReader] = {}
        self.peak_bytes: int | None = None
        """Highest sum of the peaks of those alive in one look; None where nothing was seen."""

    def look(self) -> None:
        """Look at every process of the tree."""
        peaks = []
        for pid in (self._pid, *self._descendants()):
            reader = self._readers.setdefault(pid, MemoryReader(pid))
            if reader.look() is not None:
                peaks.append(reader.peak_bytes() or 0)
        if peaks:
            self.peak_bytes = max(self.peak_bytes or 0, sum(peaks))

    def _descendants(self) -> list[int]:
        import psutil

        try:
            return [child.pid for child in psutil.Process(self._pid).children(recursive=True)]
        except psutil.Error:
            return []

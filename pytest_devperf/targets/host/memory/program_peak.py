"""The peak memory of a program and of everything it starts."""

from __future__ import annotations

import marshal
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_devperf.sensor.host.memory import MemoryReader
from pytest_devperf.targets.host.memory.children import WATCHER, read_descendants
from pytest_devperf.targets.process import Invocation


class PeakOfProgram:
    """The peak of one start of a program.

    On POSIX systems, a small program of this package starts it and reads the peak that the kernel kept for it. On
    other systems, this process reads its size while it runs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._report = folder / "peak"
        self._readers: dict[int, MemoryReader] = {}
        self.bytes: int | None = None
        """None: not known."""
        self.watch: Callable[[int], None] | None = self._look
        """Reads the program's size while it runs; None if the small program does that."""

    def around(self, invocation: Invocation) -> Invocation:
        """Wrap an invocation so that the watching program starts it."""
        if not (hasattr(os, "posix_spawn") and sys.executable):
            return invocation
        self.watch = None
        job = self._folder / "job"
        # The watcher's environment, not the program's, which may name libraries that Python should not load.
        environment = {**os.environ, **invocation.environment}
        job.write_bytes(marshal.dumps((list(invocation.argv), environment, str(self._report))))
        return Invocation(argv=(*WATCHER, "run", str(job)), environment={})

    def _look(self, pid: int) -> None:
        """Read the sizes of a program and of the processes it started."""
        peaks = []
        for each in (pid, *read_descendants(pid)):
            reader = self._readers.setdefault(each, MemoryReader(each))
            if reader.look() is not None:
                peaks.append(reader.peak_bytes() or 0)
        if peaks:
            self.bytes = max(self.bytes or 0, sum(peaks))

    def read(self) -> None:
        """Read the peak that the small program wrote."""
        if self._report.is_file():
            self.bytes = int(self._report.read_text(encoding="ascii")) * 1024


@contextmanager
def peak_of_program() -> Iterator[PeakOfProgram]:
    """Measure the peak of a program that is started within the block; it is known after the block."""
    with tempfile.TemporaryDirectory(prefix="devperf-peak-") as folder:
        peak = PeakOfProgram(Path(folder))
        yield peak
        peak.read()

"""The peak memory of a program and all that it starts."""

from __future__ import annotations

import marshal
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_devperf.sensor.memory import MemoryReader
from pytest_devperf.targets.host.memory.children import WATCHER, read_descendants
from pytest_devperf.targets.process import Invocation


class PeakOfProgram:
    """The peak of one start of a program.

    On POSIX systems a small program of our own starts it and reads the peak that the kernel kept of it. Elsewhere
    it is looked at from here while it lives.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._report = folder / "peak"
        self._readers: dict[int, MemoryReader] = {}
        self.bytes: int | None = None
        """None: not known."""
        self.watch: Callable[[int], None] | None = self._look
        """Looks at the program while it lives; None if that is done from outside."""

    def around(self, launch: Invocation) -> Invocation:
        """Have a program started by the one that watches it."""
        if not (hasattr(os, "posix_spawn") and sys.executable):
            return launch
        self.watch = None
        job = self._folder / "job"
        # Its own environment, not the program's: that may name libraries which no Python should load.
        environment = {**os.environ, **launch.environment}
        job.write_bytes(marshal.dumps((list(launch.argv), environment, str(self._report))))
        return Invocation(argv=(*WATCHER, "run", str(job)), environment={})

    def _look(self, pid: int) -> None:
        """Look at a program and what it started."""
        peaks = []
        for each in (pid, *read_descendants(pid)):
            reader = self._readers.setdefault(each, MemoryReader(each))
            if reader.look() is not None:
                peaks.append(reader.peak_bytes() or 0)
        if peaks:
            self.bytes = max(self.bytes or 0, sum(peaks))

    def read(self) -> None:
        """Read what the program that watched has written down."""
        if self._report.is_file():
            self.bytes = int(self._report.read_text(encoding="ascii")) * 1024


@contextmanager
def peak_of_program() -> Iterator[PeakOfProgram]:
    """Take the peak of a program that is started within the block; it is known from the block's end on."""
    with tempfile.TemporaryDirectory(prefix="devperf-peak-") as folder:
        peak = PeakOfProgram(Path(folder))
        yield peak
        peak.read()

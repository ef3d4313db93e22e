"""Read the memory of a process: resident size, and the peak since a chosen moment."""

from __future__ import annotations

import threading
from pathlib import Path

from pytest_devperf.sensor.proc import parse_status_bytes

RESET_PEAK = "5"
"""Written to `clear_refs`, it resets the peak (VmHWM) to the current size.

Source: Linux Documentation/filesystems/proc.rst, 3.3 and later.
"""

SAMPLE_S = 0.001
"""Pause between two samples if the kernel keeps no peak that can be reset: a compromise between missed peaks and
disturbance. Memory is measured in a separate pass, never during timed rounds.
"""


class PeakMemory:
    """The peak of this process's resident memory since the latest `reset`.

    On Linux the kernel records it and never misses a peak. On other systems a thread samples until `peak_bytes` is
    called, and may miss a peak shorter than its pause.
    """

    def __init__(self) -> None:
        self._sampler: _Sampler | None = None
        self.keeps_peak = False
        """Whether the kernel records the peak, so that no thread is needed."""

    def reset(self) -> None:
        """Start again from the current size."""
        self._stop()
        self.keeps_peak = _reset_kernel_peak()
        if not self.keeps_peak:
            self._sampler = _Sampler()

    def rss_bytes(self) -> int:
        """Read the current resident memory."""
        status = _status("self")
        size = parse_status_bytes(status, "VmRSS") if status else None
        return size if size is not None else _psutil_rss()

    def peak_bytes(self) -> int:
        """Read the peak since the latest reset, and stop sampling."""
        if self._sampler is not None:
            return self._stop()
        status = _status("self")
        size = parse_status_bytes(status, "VmHWM") if status else None
        return size if size is not None else _psutil_rss()

    def close(self) -> None:
        """Stop sampling."""
        self._stop()

    def _stop(self) -> int:
        sampler, self._sampler = self._sampler, None
        return sampler.stop() if sampler is not None else 0


class MemoryReader:
    """The memory of another process on this machine: a child, which must be read while it runs.

    A child's `ru_maxrss` is no substitute: it starts at its parent's peak.

    Args:
        pid: Process id of the child, after its program was started (exec resets the peak).
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak: int | None = None

    def look(self) -> int | None:
        """Read the current resident memory in bytes and update the peak; return None if the process has exited."""
        status = _status(str(self._pid))
        if status is None and not _proc():
            rss = _child_rss(self._pid)
            self._keep(rss)
            return rss
        self._keep(parse_status_bytes(status or "", "VmHWM"))
        return parse_status_bytes(status or "", "VmRSS")

    def peak_bytes(self) -> int | None:
        """Return the highest size seen so far, also after the process exited; None if no size was read."""
        self.look()
        return self._peak

    def _keep(self, size: int | None) -> None:
        if size is not None:
            self._peak = max(size, self._peak or 0)


class _Sampler:
    """A thread that samples this process's resident memory."""

    def __init__(self) -> None:
        self._peak = _psutil_rss()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="devperf-memory", daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            self._peak = max(self._peak, _psutil_rss())

    def stop(self) -> int:
        self._ended.set()
        self._thread.join()
        return max(self._peak, _psutil_rss())


def _proc() -> bool:
    return Path("/proc/self/status").exists()


def _status(pid: str) -> str | None:
    try:
        return Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return None


def _reset_kernel_peak() -> bool:
    """Reset VmHWM; return False if the kernel does not support it or a sandbox only pretends to."""
    try:
        Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    except OSError:
        return False
    return parse_status_bytes(_status("self") or "", "VmHWM") is not None


def _psutil_rss() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


def _child_rss(pid: int) -> int | None:
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return None

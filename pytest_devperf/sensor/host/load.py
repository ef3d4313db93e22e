"""Read CPU times and available memory through psutil."""

from __future__ import annotations

from pytest_devperf.sensor.proc import CpuTimes

TICKS_PER_S = 100
"""psutil's CPU seconds are converted to ticks of the same length as Linux's, so that the same rules apply to both."""


def read_cpu_times() -> CpuTimes | None:
    """Read the CPU times of all CPUs in ticks."""
    import psutil

    times = psutil.cpu_times()
    # On Windows, system time includes interrupts; nice exists only on macOS.
    busy = times.user + times.system + getattr(times, "nice", 0.0)
    return CpuTimes(busy=round(busy * TICKS_PER_S), total=round((busy + times.idle) * TICKS_PER_S))


def read_ram_mb() -> tuple[float, float]:
    """Read available memory and this process's resident memory, in MB (10^6 bytes)."""
    import psutil

    return psutil.virtual_memory().available / 1e6, psutil.Process().memory_info().rss / 1e6

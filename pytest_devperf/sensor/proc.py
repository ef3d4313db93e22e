"""Texts of the Linux kernel in `/proc` and `/sys`, on a workstation as on a phone."""

from __future__ import annotations

import re

from pytest_devperf.sensor.load import CpuTimes


def parse_cpu_times(text: str) -> CpuTimes | None:
    """Read the first line of `/proc/stat`.

    Waiting for a disk is idle; time taken by the hypervisor (steal) is busy, since nobody here had it.
    Guest times are contained in user times already.

    Source:
        proc(5), `/proc/stat`.
    """
    words = text.split("\n", 1)[0].split()
    if len(words) < 5 or words[0] != "cpu":  # noqa: PLR2004 - "cpu" and user, nice, system, idle
        return None
    ticks = [int(word) for word in words[1:9]]
    total, idle = sum(ticks), sum(ticks[3:5])
    return CpuTimes(busy=total - idle, total=total)


def parse_free_ram_mb(text: str) -> float | None:
    """Read `MemAvailable` of `/proc/meminfo` in MB (10^6 bytes)."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else None


def parse_pressure_pct(text: str) -> float | None:
    """Read the `some avg10` of `/proc/pressure/cpu`: percent of the last 10 s in which a task waited.

    Source:
        Linux Documentation/accounting/psi.rst.
    """
    found = re.search(r"^some avg10=([\d.]+)", text)
    return float(found[1]) if found else None


def parse_status_bytes(text: str, key: str) -> int | None:
    """Read one size (`VmRSS`, `VmHWM`) of `/proc/PID/status` in bytes; None for a process that is gone."""
    found = re.search(rf"^{key}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def parse_count(text: str | None) -> int | None:
    """Read a file that holds one whole number, decimal or with a leading 0x."""
    try:
        return int(text.strip(), 0) if text else None
    except ValueError:
        return None

"""Parse files of the Linux kernel in `/proc` and `/sys`, from a workstation or a phone."""

from __future__ import annotations

import re

from pytest_devperf.sensor.load import CpuTimes
from pytest_devperf.untrusted import MOST_DIGITS, parse_number, parse_whole

_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
"""At most 64 bits."""

_FULL_PCT = 100.0


STEAL = 7
"""Place of the steal time in a line of `/proc/stat`, behind the name."""


def parse_cpu_times(text: str) -> CpuTimes | None:
    """Parse the first line of `/proc/stat`.

    Waiting for a disk counts as idle; time taken by the hypervisor (steal) counts as busy, since it was not available.
    Guest times are already part of user times.

    Source:
        proc(5), `/proc/stat`.
    """
    words = text.split("\n", 1)[0].split()
    if len(words) < 5 or words[0] != "cpu":  # noqa: PLR2004 - "cpu" and user, nice, system, idle
        return None
    ticks = [count for count in map(parse_whole, words[1:9]) if count is not None]
    if len(ticks) < len(words[1:9]):
        return None
    total, idle = sum(ticks), sum(ticks[3:5])
    return CpuTimes(busy=total - idle, total=total, stolen=ticks[STEAL] if len(ticks) > STEAL else None)


def parse_free_ram_mb(text: str) -> float | None:
    """Parse `MemAvailable` of `/proc/meminfo` in MB (10^6 bytes)."""
    size_bytes = parse_status_bytes(text, "MemAvailable")
    return None if size_bytes is None else size_bytes / 1e6


def parse_used_ram_mb(text: str) -> float | None:
    """Parse the memory that is not available to programs, from `/proc/meminfo`, in MB (10^6 bytes)."""
    total_bytes, free_bytes = parse_status_bytes(text, "MemTotal"), parse_status_bytes(text, "MemAvailable")
    return None if total_bytes is None or free_bytes is None else (total_bytes - free_bytes) / 1e6


def parse_pressure_pct(text: str) -> float | None:
    """Parse the `some avg10` of `/proc/pressure/cpu`: percent of the last 10 s in which a task waited.

    Source:
        Linux Documentation/accounting/psi.rst.
    """
    found = re.match(r"some avg10=(\S{1,20})\s", text)
    percent = parse_number(found[1]) if found else None
    return percent if percent is not None and 0 <= percent <= _FULL_PCT else None


def parse_status_bytes(text: str, key: str) -> int | None:
    """Parse one size in bytes of `/proc/PID/status` (`VmRSS`) or `/proc/meminfo`; return None if it is missing."""
    found = re.search(rf"^{key}:[ \t]+([0-9]{{1,{MOST_DIGITS}}}) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def parse_count(text: str | None) -> int | None:
    """Parse a whole number, decimal or with a leading 0x."""
    word = (text or "").strip()
    return int(word, 16) if _HEXADECIMAL.fullmatch(word) else parse_whole(word)

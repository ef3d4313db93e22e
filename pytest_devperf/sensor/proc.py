"""Parse files of the Linux kernel in `/proc` and `/sys`, from a workstation or a phone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_devperf.untrusted import MOST_DIGITS, parse_number, parse_whole

_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
"""At most 64 bits."""

_FULL_PCT = 100.0

BYTES_PER_MB = 1_000_000
BYTES_PER_GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTimes:
    """Clock ticks of all CPUs since boot."""

    busy: int
    total: int
    stolen: int | None = None
    """Of the busy ones, those that a hypervisor gave to others; None: not known."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMemory:
    """Memory of a whole device; None is *not known*."""

    total_bytes: int | None
    available_bytes: int | None
    """What programs can get without swapping."""

    @property
    def available_mb(self) -> float | None:
        """In MB (10^6 bytes)."""
        return None if self.available_bytes is None else self.available_bytes / BYTES_PER_MB

    @property
    def used_mb(self) -> float | None:
        """What programs cannot get, in MB (10^6 bytes)."""
        if self.total_bytes is None or self.available_bytes is None:
            return None
        return (self.total_bytes - self.available_bytes) / BYTES_PER_MB

    @property
    def total_gib(self) -> int | None:
        """In whole GiB, rounded up."""
        return None if self.total_bytes is None else whole_gib(self.total_bytes)


def whole_gib(size_bytes: int) -> int:
    """Round a memory size up to whole GiB: the kernel's own share differs between its versions.

    >>> whole_gib(16_600_000_000), whole_gib(16 * 1024**3)
    (16, 16)
    """
    return -(-size_bytes // BYTES_PER_GIB)


def parse_meminfo(text: str) -> SystemMemory:
    """Parse `/proc/meminfo`, or the lines `MemTotal` and `MemAvailable` of it.

    Source:
        proc(5), `/proc/meminfo`.

    >>> parse_meminfo("MemTotal:        7640000 kB").total_gib
    8
    """
    return SystemMemory(
        total_bytes=parse_status_bytes(text, "MemTotal"), available_bytes=parse_status_bytes(text, "MemAvailable")
    )


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

"""Parse the memory of a process on a phone: `dumpsys meminfo PID` and `/proc/PID/smaps_rollup`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_devperf.sensor.reading import State, raw_words, refusal
from pytest_devperf.untrusted import parse_whole

BYTES_PER_KB = 1024

TOTALS = (
    # Android 11 and later, one line of the App Summary.
    r"TOTAL PSS:\s*(?P<pss>[\d,]+)(?:\s+TOTAL RSS:\s*(?P<rss>[\d,]+))?(?:\s+TOTAL SWAP[^:\n]*:\s*(?P<swap>[\d,]+))?",
    # Android 6 to 10.
    r"^[ \t]*TOTAL:\s*(?P<pss>[\d,]+)(?:\s+TOTAL SWAP[^:\n]*:\s*(?P<swap>[\d,]+))?",
    # The table, the only output for native processes: its first column is the proportional size.
    r"^[ \t]*TOTAL\s+(?P<pss>[\d,]+)\b",
)
"""Patterns of the total, best first. Source: AOSP ActivityThread.dumpMemInfoTable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReading:
    """Sizes of one process in bytes."""

    state: State
    pss_bytes: int | None = None
    """Proportional set size: shared pages are divided among the processes that share them."""
    rss_bytes: int | None = None
    swap_bytes: int | None = None
    why: str | None = None


def parse_meminfo(text: str) -> MemoryReading:
    """Parse the dump; unknown if the process is gone, although the command succeeds."""
    if "No process found" in text:
        return MemoryReading(state="unknown", why=raw_words(text))
    for pattern in TOTALS:
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            sizes = found.groupdict()
            return MemoryReading(
                state="value",
                pss_bytes=_bytes(sizes.get("pss")),
                rss_bytes=_bytes(sizes.get("rss")),
                swap_bytes=_bytes(sizes.get("swap")),
            )
    return MemoryReading(state="unknown", why=refusal(text) or raw_words(text))


def parse_smaps_rollup(text: str) -> MemoryReading:
    """Parse the totals of `/proc/PID/smaps_rollup`; reading the file stalls the process, so never during timed rounds.

    Source:
        Linux Documentation/ABI/testing/procfs-smaps_rollup.
    """
    sizes = dict(re.findall(r"^(Rss|Pss|SwapPss):\s+(\d+) kB", text, re.MULTILINE))
    if "Pss" not in sizes:
        return MemoryReading(state="unknown", why=refusal(text) or raw_words(text))
    return MemoryReading(
        state="value",
        pss_bytes=_bytes(sizes["Pss"]),
        rss_bytes=_bytes(sizes.get("Rss")),
        swap_bytes=_bytes(sizes.get("SwapPss")),
    )


def _bytes(kilobytes: str | None) -> int | None:
    size_kib = None if kilobytes is None else parse_whole(kilobytes.replace(",", ""))
    return None if size_kib is None else size_kib * BYTES_PER_KB

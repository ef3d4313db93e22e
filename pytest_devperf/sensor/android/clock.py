"""Read the clocks of a phone's CPUs: a script, and the parser of its output."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_devperf.sensor.reading import State, lines_of, raw_words
from pytest_devperf.untrusted import parse_whole

FILES = (
    "scaling_cur_freq",
    "scaling_min_freq",
    "scaling_max_freq",
    "cpuinfo_max_freq",
    "scaling_governor",
    "related_cpus",
)
"""Files read for each policy. Source: Linux Documentation/admin-guide/pm/cpufreq.rst."""

MOST_KHZ = 100_000_000
"""100 GHz: a higher value is damaged data."""

MOST_CPUS = 8192
"""Most CPUs that a Linux kernel supports. Source: Linux arch/x86/Kconfig, NR_CPUS_RANGE_END."""

POLICIES = 16
"""Policies to read by number: listing the folder may be forbidden even if reading the files is allowed."""

CLOCK_SCRIPT = f"""\
n=0
while [ $n -lt {POLICIES} ]; do
  for f in {" ".join(FILES)}; do
    if {{ read -r v < /sys/devices/system/cpu/cpufreq/policy$n/$f; }} 2>/dev/null; then echo "policy$n $f $v"; fi
  done
  n=$((n + 1))
done"""
"""Prints `policy0 scaling_cur_freq 1804800` per readable file, using only shell builtins, without other processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """Clocks by policy (`policy0`), in kHz."""

    state: State
    cur_khz: Mapping[str, int] = field(default_factory=dict)
    min_khz: Mapping[str, int] = field(default_factory=dict)
    max_khz: Mapping[str, int] = field(default_factory=dict)
    """The current cap, set by heat, power saving, fixed performance or the vendor's idle default."""
    hardware_max_khz: Mapping[str, int] = field(default_factory=dict)
    governors: Mapping[str, str] = field(default_factory=dict)
    cpus: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """CPUs of each policy, including offline ones."""
    why: str | None = None

    @property
    def governor(self) -> str | None:
        """All governors, without duplicates, joined with commas."""
        return ",".join(dict.fromkeys(self.governors.values())) or None


def parse_clocks(text: str) -> ClockReading:
    """Parse the output of `CLOCK_SCRIPT`; unknown if no policy could be read."""
    found: dict[str, dict[str, str]] = {name: {} for name in FILES}
    for line in lines_of(text):
        match = re.fullmatch(r"(policy[0-9]{1,4}) (\w+) (\S.*)", line.strip())
        if match and match[2] in found:
            found[match[2]][match[1]] = match[3]
    max_khz = _khz(found["scaling_max_freq"])
    cur_khz = _khz(found["scaling_cur_freq"])
    if not max_khz and not cur_khz:
        return ClockReading(state="unknown", why=raw_words(text))
    return ClockReading(
        state="value",
        cur_khz=cur_khz,
        min_khz=_khz(found["scaling_min_freq"]),
        max_khz=max_khz,
        hardware_max_khz=_khz(found["cpuinfo_max_freq"]),
        governors=found["scaling_governor"],
        cpus={policy: _cpus(words) for policy, words in found["related_cpus"].items()},
    )


def capped(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Return the policies whose cap is lower than before, with the current cap in kHz.

    >>> capped({"policy0": 1800000, "policy4": 2400000}, {"policy0": 1800000, "policy4": 1600000})
    {'policy4': 1600000}
    """
    return {policy: khz for policy, khz in now.items() if khz < before.get(policy, khz)}


def _khz(words: Mapping[str, str]) -> dict[str, int]:
    found = {policy: parse_whole(word) for policy, word in words.items()}
    return {policy: khz for policy, khz in found.items() if khz is not None and 0 < khz <= MOST_KHZ}


def _cpus(words: str) -> tuple[int, ...]:
    found = (parse_whole(word) for word in words.split())
    return tuple(dict.fromkeys(cpu for cpu in found if cpu is not None and 0 <= cpu < MOST_CPUS))

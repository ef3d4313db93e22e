"""Read the sensors of a Mac that do not need root: thermal pressure, power source, low power mode."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.host.load import read_cpu_times, read_ram_mb
from pytest_devperf.sensor.host.supply import Supply
from pytest_devperf.sensor.proc import CpuTimes
from pytest_devperf.untrusted import parse_whole

PRESSURE = b"com.apple.system.thermalpressurelevel"
"""Name of the system's thermal pressure notification; any user may read its state.

Source: `OSThermalNotification.h`; 0 nominal, 1 moderate, 2 heavy, 3 trapping, 4 sleeping.
"""

FULL_PCT = 100

TIMEOUT_S = 5.0
"""Longest wait for `pmset`, which takes about 10 ms."""


def parse_therm(text: str) -> bool | None:
    r"""Parse `pmset -g therm`: whether the processor is slowed down.

    Intel prints `CPU_Speed_Limit = 100`, or a lower number if slowed down. Apple silicon prints that no event *has been
    recorded*, even while it is hot, so the state is not known.

    >>> parse_therm("  CPU_Scheduler_Limit = 100\n  CPU_Available_CPUs = 8\n  CPU_Speed_Limit = 64\n")
    True
    >>> parse_therm("Note: No thermal warning level has been recorded\n") is None
    True
    """
    limits = [int(value) for value in re.findall(r"CPU_(?:Speed|Scheduler)_Limit[ \t]*=[ \t]*([0-9]{1,3})\b", text)]
    return any(limit < FULL_PCT for limit in limits) if limits else None


def parse_batt(text: str) -> Supply:
    r"""Parse `pmset -g batt`: power source, level and charging.

    >>> parse_batt("Now drawing from 'AC Power'\n -InternalBattery-0 (id=1)\t81%; charging; 0:40 remaining").charging
    True
    """
    source = re.search(r"drawing from '(AC|Battery|UPS) Power'", text)
    line = next((line for line in text.splitlines() if "InternalBattery" in line), "")
    before, percent, after = line.partition("%;")
    level_pct = parse_whole(before.split()[-1]) if percent and before.split() else None
    known = level_pct is not None and 0 <= level_pct <= FULL_PCT
    return Supply(
        state=None if source is None else "AC" if source[1] == "AC" else "battery",
        battery_pct=float(level_pct) if known and level_pct is not None else None,
        charging=after.partition(";")[0].strip() in ("charging", "finishing charge") if known else None,
    )


def parse_power_mode(text: str) -> str | None:
    r"""Parse `pmset -g`: `low-power`, `automatic` or `high-power`; None if the Mac has no such mode.

    >>> parse_power_mode(" standby              1\n lowpowermode         1\n")
    'low-power'
    """
    found = re.search(r"^[ \t]*(?:lowpowermode|powermode)[ \t]+([0-9])", text, re.MULTILINE)
    return {"0": "automatic", "1": "low-power", "2": "high-power"}.get(found[1]) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pressure:
    library: ctypes.CDLL
    token: int

    def level(self) -> int | None:
        state = ctypes.c_uint64()
        failed = self.library.notify_get_state(ctypes.c_int(self.token), ctypes.byref(state))
        return None if failed else int(state.value)


def _open_pressure() -> _Pressure | None:
    try:
        library = ctypes.CDLL("/usr/lib/libSystem.B.dylib")
        token = ctypes.c_int()
        failed = library.notify_register_check(ctypes.c_char_p(PRESSURE), ctypes.byref(token))
    except (OSError, AttributeError):
        return None
    return None if failed else _Pressure(library=library, token=token.value)


def _pmset(*arguments: str) -> str:
    try:
        # The system's own tool by its full path, whatever PATH contains.
        done = subprocess.run(
            ["/usr/bin/pmset", *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


class MacSensors:
    """The sensors of this Mac; temperatures and clocks need root."""

    def __init__(self) -> None:
        self._pressure = _open_pressure()

    def cpu_times(self) -> CpuTimes | None:
        """Read the CPU times of all CPUs since boot."""
        return read_cpu_times()

    def throttled_now(self) -> bool | None:
        """Return whether the system slows down because of its temperature."""
        level = self._pressure.level() if self._pressure is not None else None
        return None if level is None else level > 0

    def throttle_count(self) -> int | None:
        """Return None: a Mac has no such counter."""
        return None

    def temps_c(self, *, quick: bool) -> dict[str, float]:  # noqa: ARG002 - part of the protocol
        """Return nothing: temperatures need root."""
        return {}

    def temp_c(self, temps_c: Mapping[str, float]) -> float | None:  # noqa: ARG002 - as above
        """Return None: there is no deciding temperature."""
        return None

    def look(self, *, quick: bool) -> Context:
        """Read the thermal pressure and memory; a full look also reads power source, power mode and speed limit."""
        throttled = self.throttled_now()
        free_mb, used_mb = read_ram_mb()
        if quick:
            return Context(at_ns=0, throttled=throttled, free_ram_mb=free_mb, used_ram_mb=used_mb)
        supply = parse_batt(_pmset("-g", "batt"))
        slowed = parse_therm(_pmset("-g", "therm"))
        known = [state for state in (throttled, slowed) if state is not None]
        return Context(
            at_ns=0,
            throttled=any(known) if known else None,
            power_state=supply.state,
            power_plan=parse_power_mode(_pmset("-g")),
            charging=supply.charging,
            battery_pct=supply.battery_pct,
            free_ram_mb=free_mb,
            used_ram_mb=used_mb,
        )

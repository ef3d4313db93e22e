"""Read the sensors of a Windows machine: power, and GPUs and NPUs through performance counters."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.host.cpus import read_bound_cpus
from pytest_devperf.sensor.host.load import read_cpu_times, read_ram_mb
from pytest_devperf.sensor.host.pdh import open_counters
from pytest_devperf.sensor.host.supply import Supply
from pytest_devperf.sensor.proc import CpuTimes

UNKNOWN_BYTE = 255
"""Value that GetSystemPowerStatus returns for an unknown line status, flag or level."""

NO_BATTERY_FLAG = 128
CHARGING_FLAG = 8
"""Bits of `BatteryFlag`. Source: Microsoft, SYSTEM_POWER_STATUS (winbase.h)."""

ADAPTER_CLASSES = ("{4d36e968-e325-11ce-bfc1-08002be10318}", "{f01a9d53-3ff6-48d2-9f97-c8a7004be10c}")
"""Device classes of display adapters and of compute accelerators (NPUs).

Source: Microsoft, System-Defined Device Setup Classes.
"""

TIMEOUT_S = 10.0
"""Longest wait for `powercfg`, which takes about 50 ms."""

BYTES_PER_MB = 1e6


def parse_power_status(line: int, flag: int, level: int) -> Supply:
    """Convert three bytes of SYSTEM_POWER_STATUS.

    Args:
        line: `ACLineStatus`: 0 battery, 1 mains, 255 unknown.
        flag: `BatteryFlag`: 8 charging, 128 no battery, 255 unknown.
        level: `BatteryLifePercent`: 0 to 100, 255 unknown.

    >>> parse_power_status(1, 8, 81)
    Supply(state='AC', battery_pct=81.0, charging=True)
    """
    known = flag not in (UNKNOWN_BYTE, NO_BATTERY_FLAG)
    return Supply(
        state={0: "battery", 1: "AC"}.get(line),
        battery_pct=float(level) if known and level != UNKNOWN_BYTE else None,
        charging=bool(flag & CHARGING_FLAG) if known else None,
    )


def parse_power_plan(text: str) -> str | None:
    r"""Parse `powercfg /getactivescheme`: the plan's name, or its GUID if the name is empty.

    The text before the GUID is in the language of the system.

    >>> parse_power_plan("Power Scheme GUID: 381b4222-f694-41f0-9685-ff5bb260df2e  (Balanced)\r\n")
    'Balanced'
    """
    found = re.search(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?:\s*\(([^)\r\n]+)\))?", text)
    return (found[2] or found[1]).strip() if found else None


def engine_util_pct(instances: Iterable[tuple[str, float]]) -> float | None:
    r"""Combine `\GPU Engine(*)\Utilization Percentage` in the same way as the Task Manager.

    Args:
        instances: Names like `pid_812_luid_0x00000000_0x0000C3A2_phys_0_eng_3_engtype_Compute`, with percentages.

    Returns:
        Summed over processes, the busiest engine of the busiest adapter; NPUs count as adapters. None without any.
    """
    engines: dict[str, float] = {}
    for name, value in instances:
        engine = name[name.find("luid_") :].partition("_engtype_")[0]
        if engine.startswith("luid_") and "_eng_" in engine:
            engines[engine] = engines.get(engine, 0.0) + value
    return min(100.0, max(engines.values())) if engines else None


def adapter_memory_mb(instances: Iterable[tuple[str, float]]) -> float | None:
    r"""Sum `\GPU Adapter Memory(*)\Dedicated Usage` (or `Shared Usage`) over adapters, in MB."""
    values = [value for name, value in instances if "luid_" in name]
    return sum(values) / BYTES_PER_MB if values else None


def format_drivers(drivers: Iterable[tuple[str, str]]) -> str | None:
    """Format adapters with their driver versions, without duplicates, sorted.

    >>> format_drivers([("Intel(R) Iris(R) Xe Graphics", "31.0.101.4502")])
    'Intel(R) Iris(R) Xe Graphics 31.0.101.4502'
    """
    return ", ".join(sorted({f"{name} {version}" for name, version in drivers})) or None


class WindowsSensors:
    """The sensors of this Windows machine; temperatures and clocks would need a kernel driver."""

    def __init__(self) -> None:
        self._counters = open_counters()
        self._driver = format_drivers(read_drivers())

    def cpu_times(self) -> CpuTimes | None:
        """Read the CPU times of all CPUs since boot."""
        return read_cpu_times()

    def look(self, *, quick: bool) -> Context:
        """Read adapters and memory; a full look also reads power source and plan."""
        free_mb, used_mb = read_ram_mb()
        counters = self._counters
        engines, local, shared = counters.collect() if counters is not None else ((), (), ())
        supply = Supply() if quick else read_supply()
        return Context(
            at_ns=0,
            cpu_set=read_bound_cpus(),
            power_state=supply.state,
            power_plan=None if quick else parse_power_plan(_powercfg()),
            charging=supply.charging,
            battery_pct=supply.battery_pct,
            free_ram_mb=free_mb,
            used_ram_mb=used_mb,
            adapter_util_pct=engine_util_pct(engines),
            device_mem_local_mb=adapter_memory_mb(local),
            device_mem_shared_mb=adapter_memory_mb(shared),
            env={"driver": self._driver},
        )


class _PowerStatus(ctypes.Structure):
    """SYSTEM_POWER_STATUS. Source: Microsoft, winbase.h."""

    _fields_ = (
        ("line", ctypes.c_ubyte),
        ("flag", ctypes.c_ubyte),
        ("level", ctypes.c_ubyte),
        ("saver", ctypes.c_ubyte),
        ("life_s", ctypes.c_uint32),
        ("full_life_s", ctypes.c_uint32),
    )


def read_supply() -> Supply:
    """Read the power status with GetSystemPowerStatus; nothing is known on other systems."""
    if sys.platform == "win32":
        status = _PowerStatus()
        if ctypes.windll.kernel32.GetSystemPowerStatus(ctypes.byref(status)):
            return parse_power_status(status.line, status.flag, status.level)
    return Supply()


def read_drivers() -> list[tuple[str, str]]:
    """Read names and driver versions of GPUs and NPUs from the registry; a CIM query would take a second."""
    drivers: list[tuple[str, str]] = []
    for device_class in ADAPTER_CLASSES:
        drivers += _class_drivers(rf"SYSTEM\CurrentControlSet\Control\Class\{device_class}")
    return drivers


def _class_drivers(path: str) -> list[tuple[str, str]]:
    drivers: list[tuple[str, str]] = []
    if sys.platform == "win32":
        import winreg

        with _absent_is_fine(), winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as adapters:
            for index in range(winreg.QueryInfoKey(adapters)[0]):
                with _absent_is_fine(), winreg.OpenKey(adapters, winreg.EnumKey(adapters, index)) as adapter:
                    name = winreg.QueryValueEx(adapter, "DriverDesc")[0]
                    drivers.append((str(name), str(winreg.QueryValueEx(adapter, "DriverVersion")[0])))
    return drivers


@contextmanager
def _absent_is_fine() -> Iterator[None]:
    try:
        yield
    except OSError:
        return


def _powercfg() -> str:
    try:
        # Windows' own tool; CreateProcess searches its folder first.
        command = ["powercfg", "/getactivescheme"]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ""

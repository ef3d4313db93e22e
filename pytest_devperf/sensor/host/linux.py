"""Read the sensors of a Linux machine from /proc and /sys.

Readings take place between rounds, so they must be cheap: the files are located once, and those
read every time stay open.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.host.cpus import CpuSensor
from pytest_devperf.sensor.host.supply import Supply, parse_supply
from pytest_devperf.sensor.proc import (
    CpuTimes,
    parse_count,
    parse_cpu_times,
    parse_meminfo,
    parse_pressure_pct,
    parse_status_bytes,
)
from pytest_devperf.sensor.zone import is_temperature, parse_celsius

MAX_OPEN = 64
"""Most files kept open: a process is often limited to 1024, and most of them belong to the tests."""

MAX_POLICIES = 16
"""Most frequency policies read: large servers have one per CPU, all under the same caps."""

MAX_CORES = 32
"""Most cores whose throttle counter is read: a package that throttles has a separate counter."""

READ_BYTES = 16_384
"""Bytes read per file: only the beginning of `/proc/stat` and `/proc/meminfo` is used."""

DECIDING = (
    r"coretemp/Package id \d+",
    r"(k10temp|zenpower)/Tdie",
    r"(k10temp|zenpower)/Tctl",
    r"x86_pkg_temp",
    r"cpu_thermal(/.*)?|cpu[-_]?thermal.*",
    r"(coretemp|k10temp|zenpower)/.*",
    r"TCPU.*",
    r"(big|little|cpu|cluster)[-_a-z0-9]*",
    r"soc[-_]thermal.*",
    r"acpitz(/.*)?",
)
"""Sensors used for decisions, best first: the package, then a core, then sensors near the processor.

Tdie comes before Tctl, which includes an offset on some Ryzen (kernel: Documentation/hwmon/k10temp.rst).
"""

PI_THROTTLED = 0b1110
"""Bits of a Raspberry Pi's `get_throttled` for the current state: clock capped, throttled, soft limit.

Source: Raspberry Pi firmware documentation, `vcgencmd get_throttled`.
"""

COOLED_BY_CLOCK = re.compile(r"(Processor|cpufreq-.*|thermal-cpufreq-.*|cpu-.*)\s*", re.IGNORECASE)
"""Cooling devices that slow down the processor, unlike fans and idle injection."""


def deciding_names(names: Iterable[str]) -> tuple[str, ...]:
    """Choose the sensors whose maximum is the machine's temperature; empty if none is near the processor.

    >>> deciding_names(["nvme/Composite", "coretemp/Core 0", "coretemp/Package id 0"])
    ('coretemp/Package id 0',)
    """
    known = tuple(names)
    for pattern in DECIDING:
        chosen = tuple(name for name in known if re.fullmatch(pattern, name, re.IGNORECASE))
        if chosen:
            return chosen
    return ()


class Files:
    """Reads small files of the kernel; the first ones stay open."""

    def __init__(self) -> None:
        self._open: dict[Path, int] = {}

    def text(self, path: Path) -> str | None:
        """Read a file from its beginning; return None if it is missing, denied or raises an error."""
        try:
            descriptor = self._open.get(path)
            if descriptor is None:
                descriptor = self._keep(path)
            if descriptor is None:
                return path.read_text(errors="replace")
            return os.pread(descriptor, READ_BYTES, 0).decode(errors="replace")
        except OSError:
            return None

    def _keep(self, path: Path) -> int | None:
        if len(self._open) >= MAX_OPEN:
            return None
        self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return self._open[path]

    def close(self) -> None:
        """Close the files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def __del__(self) -> None:
        """Close the files with the object."""
        self.close()


class LinuxSensors:
    """The sensors of this machine, located once.

    Args:
        root: Folder that contains `proc` and `sys`; tests pass another one than `/`.
    """

    def __init__(self, root: str | Path = "/") -> None:
        self._root = Path(root)
        self._files = Files()
        sys = self._root / "sys"
        self._temps: dict[str, list[Path]] = {}
        for name, path in (*_zone_files(sys / "class/thermal"), *_hwmon_files(sys / "class/hwmon")):
            self._temps.setdefault(name, []).append(path)
        self._deciding = deciding_names(self._temps)
        self._policies = _policy_folders(sys / "devices/system/cpu/cpufreq")
        self._throttle = _throttle_files(sys / "devices/system/cpu")
        self._cooling = _cooling_files(sys / "class/thermal")
        self._supplies = sys / "class/power_supply"
        self._profile = sys / "firmware/acpi/platform_profile"
        self._cpus = CpuSensor(self._root, self._files.text)
        firmware = sys / "devices/platform/soc/soc:firmware/get_throttled"
        self._firmware = firmware if firmware.exists() else None

    def cpu_times(self) -> CpuTimes | None:
        """Read the ticks of all CPUs."""
        return parse_cpu_times(self._files.text(self._root / "proc/stat") or "")

    def look(self, *, quick: bool) -> Context:
        """Read everything but the CPU use; a quick look omits the power supply and slow sensors."""
        temps_c = self.temps_c(quick=quick)
        supply = Supply() if quick else self.supply()
        return Context(
            at_ns=0,
            temp_c=self.temp_c(temps_c),
            temps_c=temps_c,
            throttled=self.throttled_now(),
            throttle_count=self.throttle_count(),
            cur_khz=self.clocks_khz("scaling_cur_freq"),
            max_khz=self.clocks_khz("scaling_max_freq"),
            governor=self.governor(),
            cpu_set=None if quick else self._cpus.read(),
            power_state=supply.state,
            power_plan=None if quick else self.power_plan(),
            charging=supply.charging,
            battery_pct=supply.battery_pct,
            free_ram_mb=self.free_ram_mb(),
            used_ram_mb=self.used_ram_mb(),
            pressure_cpu_pct=self.pressure_pct(),
        )

    def temps_c(self, *, quick: bool) -> dict[str, float]:
        """Read temperatures in °C by name; of equal names (two sockets) the hottest.

        A quick look reads only the deciding ones: others can be slow or wake a sleeping device (a disk, a GPU).
        """
        wanted = self._deciding if quick else tuple(self._temps)
        readings = ((name, parse_celsius(self._files.text(path))) for name in wanted for path in self._temps[name])
        temps_c: dict[str, float] = {}
        for name, value in readings:
            if value is not None:
                temps_c[name] = max(value, temps_c.get(name, value))
        return temps_c

    def temp_c(self, temps_c: Mapping[str, float]) -> float | None:
        """Return the deciding temperature: the hottest package."""
        return max((temps_c[name] for name in self._deciding if name in temps_c), default=None)

    def clocks_khz(self, name: str) -> dict[str, int]:
        """Read `scaling_cur_freq` or `scaling_max_freq` of each policy; empty if there is no cpufreq."""
        readings = ((folder.name, parse_count(self._files.text(folder / name))) for folder in self._policies)
        return {policy: khz for policy, khz in readings if khz is not None}

    def governor(self) -> str | None:
        """Read the frequency governors, without duplicates."""
        texts = (self._files.text(folder / "scaling_governor") for folder in self._policies)
        return ",".join(dict.fromkeys(text.strip() for text in texts if text)) or None

    def throttle_count(self) -> int | None:
        """Sum the kernel's counters of thermal throttling; None if the processor has none."""
        counts = [parse_count(self._files.text(path)) for path in self._throttle]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    def throttled_now(self) -> bool | None:
        """Return whether the firmware or a cooling device slows the processor down now; None if not known."""
        states = [parse_count(self._files.text(path)) for path in self._cooling]
        known = [state > 0 for state in states if state is not None]
        flags = parse_count(self._files.text(self._firmware)) if self._firmware is not None else None
        if flags is not None:
            known.append(bool(flags & PI_THROTTLED))
        return any(known) if known else None

    def supply(self) -> Supply:
        """Read mains and batteries; the folder is listed every time, since a dock may be attached or removed."""
        return parse_supply([_supply_files(folder) for folder in _sorted(self._supplies, "*")])

    def power_plan(self) -> str | None:
        """Read the ACPI platform profile (`balanced`, `performance`, …)."""
        return (self._files.text(self._profile) or "").strip() or None

    def free_ram_mb(self) -> float | None:
        """Read the memory available to a new program, in MB."""
        return parse_meminfo(self._files.text(self._root / "proc/meminfo") or "").available_mb

    def used_ram_mb(self) -> float | None:
        """Read the resident memory of this process in MB; not kept open: after a fork it is the parent's."""
        try:
            text = (self._root / "proc/self/status").read_text(errors="replace")
        except OSError:
            return None
        size = parse_status_bytes(text, "VmRSS")
        return None if size is None else size / 1e6

    def pressure_pct(self) -> float | None:
        """Read the CPU pressure of the last 10 s in percent."""
        return parse_pressure_pct(self._files.text(self._root / "proc/pressure/cpu") or "")


def _sorted(folder: Path, pattern: str) -> list[Path]:
    """List a folder in the order of the numbers in its names; empty if it is missing or denied."""
    try:
        found = list(folder.glob(pattern))
    except OSError:
        return []
    return sorted(found, key=_natural)


def _natural(path: Path) -> list[int | str]:
    parts = re.split(r"([0-9]+)", path.name)
    return [part if at % 2 == 0 else int(part) for at, part in enumerate(parts)]


def _supply_files(folder: Path) -> dict[str, str]:
    texts = {name: _word(folder / name) for name in ("type", "scope", "online", "status", "capacity")}
    return {name: text for name, text in texts.items() if text}


def _word(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _zone_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for zone in _sorted(folder, "thermal_zone*"):
        name = _word(zone / "type")
        if name and (is_temperature(name) or "therm" in name):
            yield name, zone / "temp"


def _hwmon_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for chip in _sorted(folder, "hwmon*"):
        name = _word(chip / "name") or chip.name
        for path in _sorted(chip, "temp*_input"):
            label = _word(path.with_name(path.name.replace("_input", "_label"))) or path.name.removesuffix("_input")
            yield f"{name}/{label}", path


def _policy_folders(folder: Path) -> list[Path]:
    policies = _sorted(folder, "policy*")
    step = -(-len(policies) // MAX_POLICIES) or 1
    return policies[::step]


def _throttle_files(folder: Path) -> list[Path]:
    """Choose one package counter per package and one core counter per core: siblings have the same values."""
    packages: dict[str, Path] = {}
    cores: dict[str, Path] = {}
    for cpu in _sorted(folder, "cpu[0-9]*"):
        counters = cpu / "thermal_throttle"
        if counters.is_dir():
            package, core = _word(cpu / "topology/physical_package_id"), _word(cpu / "topology/core_id")
            packages.setdefault(package, counters / "package_throttle_count")
            cores.setdefault(f"{package}/{core}", counters / "core_throttle_count")
    return [*packages.values(), *list(cores.values())[:MAX_CORES]]


def _cooling_files(folder: Path) -> list[Path]:
    devices = _sorted(folder, "cooling_device*")
    slowing = [device / "cur_state" for device in devices if COOLED_BY_CLOCK.fullmatch(_word(device / "type"))]
    return slowing[:MAX_CORES]

"""Read the settings of this machine that decide how steady its speed is. Nothing is changed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_devperf.sensor.proc import parse_count, parse_status_bytes
from pytest_devperf.sensor.zone import parse_celsius

CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
"""Files that Docker and Podman put into a container."""

HYPERVISORS = (
    *("kvm", "qemu", "vmware", "virtualbox", "xen", "parallels", "firecracker"),
    *("microsoft", "amazon", "google"),
)
"""Words in the product name or vendor of a virtual machine's firmware."""

BUSIEST = 3
"""Programs to name: one program more seldom matters."""

NAMED_FROM_PCT = 2.0
"""CPU use from which a program is named, in percent of one CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """A program that used the CPU while nothing was measured."""

    name: str
    cpu_pct: float
    """In percent of one CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """Settings of this machine; None is *not known*."""

    turbo: bool | None = None
    smt: bool | None = None
    """Whether cores run two threads each."""
    aslr: bool | None = None
    """Whether every process gets its own memory layout."""
    clocksource: str | None = None
    virtual: str | None = None
    """What runs this machine as a virtual one; empty if it is a real one."""
    container: bool = False
    swap_used_mb: float | None = None
    critical_c: float | None = None
    """Lowest temperature at which a processor is slowed down or switched off."""
    busiest: Sequence[Busy] = ()


def read_host_facts(root: Path = Path("/"), *, sample_s: float | None = 1.0) -> HostFacts:
    """Read the settings, and watch for a moment which programs use the CPU.

    Args:
        root: Folder that contains `proc` and `sys`.
        sample_s: How long to watch, in seconds; None: not at all.
    """
    cpu = root / "sys/devices/system/cpu"
    return HostFacts(
        turbo=_turbo(cpu),
        smt=_switch(cpu / "smt/active"),
        aslr=_switch(root / "proc/sys/kernel/randomize_va_space"),
        clocksource=_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource") or None,
        virtual=_virtual(root),
        container=any((root / name.lstrip("/")).exists() for name in CONTAINER_FILES),
        swap_used_mb=_swap_used_mb(_text(root / "proc/meminfo")),
        critical_c=_critical_c(root / "sys/class"),
        busiest=() if sample_s is None else _busiest(sample_s),
    )


def _turbo(cpu: Path) -> bool | None:
    """Read whether clocks may exceed the nominal one: `no_turbo` of Intel's driver, or `boost` of the others."""
    forbidden = _switch(cpu / "intel_pstate/no_turbo")
    if forbidden is not None:
        return not forbidden
    return _switch(cpu / "cpufreq/boost")


def _virtual(root: Path) -> str | None:
    """Name what runs this machine as a virtual one; return an empty text for a real one, None if it is not known."""
    firmware = " ".join(_text(root / f"sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")).strip()
    if any(word in firmware.lower() for word in HYPERVISORS):
        return firmware
    flags = _text(root / "proc/cpuinfo")
    if not flags:
        return None
    if any("hypervisor" in line.split() for line in flags.splitlines() if line.startswith("flags")):
        return firmware or "a hypervisor"
    return "" if "flags" in flags else None


def _swap_used_mb(meminfo: str) -> float | None:
    total, free = (parse_status_bytes(meminfo, key) for key in ("SwapTotal", "SwapFree"))
    return None if total is None or free is None else max(0, total - free) / 1e6


def _critical_c(folder: Path) -> float | None:
    """Read the lowest trip point of the kinds that slow down or switch off, and the limits of processor sensors."""
    found = [
        parse_celsius(_text(kind.with_name(kind.name.replace("_type", "_temp"))))
        for kind in folder.glob("thermal/thermal_zone*/trip_point_*_type")
        if _text(kind) in {"passive", "hot", "critical"}
    ]
    for name in folder.glob("hwmon/hwmon*/name"):
        if _text(name) in {"coretemp", "k10temp", "zenpower"}:
            found += [parse_celsius(_text(each)) for each in name.parent.glob("temp*_max")]
    return min((value for value in found if value is not None), default=None)


def _busiest(sample_s: float) -> tuple[Busy, ...]:
    """Watch other processes for a moment, and name those that use the CPU most."""
    import psutil

    own = os.getpid()
    watched = [each for each in psutil.process_iter(["name"]) if each.pid != own]
    for each in watched:
        with contextlib.suppress(psutil.Error):
            each.cpu_percent()
    time.sleep(sample_s)
    used: dict[str, float] = {}
    for each in watched:
        with contextlib.suppress(psutil.Error):
            name = each.info["name"] or "?"
            used[name] = used.get(name, 0.0) + each.cpu_percent()
    most = sorted(used.items(), key=lambda item: -item[1])[:BUSIEST]
    return tuple(Busy(name=name, cpu_pct=percent) for name, percent in most if percent >= NAMED_FROM_PCT)


def clock_step_ns() -> float:
    """Return the smallest step of the clock that times iterations, in ns."""
    from pytest_devperf.targets.host.meter import tick_ns

    return tick_ns(time.perf_counter_ns)


def _switch(path: Path) -> bool | None:
    count = parse_count(_text(path))
    return None if count is None else count > 0


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""

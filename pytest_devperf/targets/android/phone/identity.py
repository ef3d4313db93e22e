"""The identity of a phone: facts from its properties, and a hash that identifies the unit without its serial number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_devperf.errors import TargetError
from pytest_devperf.sensor.android.clock import CLOCK_SCRIPT, parse_clocks
from pytest_devperf.sensor.android.properties import is_emulator, parse_getprop
from pytest_devperf.sensor.batch import format_batch, split_batch
from pytest_devperf.sensor.host.cpus import parse_cpu_list
from pytest_devperf.sensor.proc import parse_meminfo
from pytest_devperf.targets.android.adb.link import Link
from pytest_devperf.targets.device import Device, hash_unit

ABI = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Name of an ABI: it becomes the name of a folder on this machine."""

NO_SERIALS = frozenset({"unknown", "null", "0123456789abcdef"})
"""Placeholders of phones without a serial number."""

SIMULATED = "ro.devperf.simulated"
"""Property that marks a simulated phone."""

PROBES: Mapping[str, str] = {
    "properties": "getprop",
    "serial": "getprop ro.serialno; getprop ro.boot.serialno",
    "memory": "cat /proc/meminfo",
    "cpus": "cat /sys/devices/system/cpu/present",
    "clocks": CLOCK_SCRIPT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A phone's permanent facts, and its software."""

    device: Device
    os: str | None
    """Android version and build; context, as it changes with every update."""
    emulator: bool
    debuggable: bool
    cpus: Mapping[str, tuple[int, ...]]
    """CPUs by frequency policy."""
    hardware_max_khz: Mapping[str, int]
    """Highest clock of each policy that the hardware allows."""


def read_identity(link: Link, *, unit: bool = True) -> Identity:
    """Read a phone's identity in one round trip.

    Args:
        link: The phone.
        unit: Whether another unit of the same model is another device.

    Raises:
        TargetError: It is gone.
    """
    done = link.script(format_batch(PROBES), doing="reading its identity")
    batch = split_batch(done.output, tuple(PROBES))
    if not batch.complete:
        raise TargetError(f"{link.name} cut its answer off while reading its identity", "try another cable, run again")
    properties = parse_getprop(batch.text("properties"))
    if not properties:
        shown = " ".join(batch.text("properties").split())[:120] or "nothing"
        raise TargetError(
            f"{link.name} does not show its identity: `getprop` prints {shown}", "restart it, and run again"
        )
    clocks = parse_clocks(batch.text("clocks"))
    device = Device(
        kind="sim" if SIMULATED in properties else "android",
        manufacturer=properties.get("ro.product.manufacturer") or None,
        model=properties.get("ro.product.model") or None,
        soc=first_of(properties, "ro.soc.model", "ro.hardware.chipname", "ro.board.platform", "ro.hardware"),
        cores=parse_present(batch.text("cpus")) or sum(len(cpus) for cpus in clocks.cpus.values()) or None,
        memory_gib=parse_meminfo(batch.text("memory")).total_gib,
        abi=_abi(properties),
        unit=unit_of_serials(batch.text("serial")),
        by_unit=unit,
    )
    return Identity(
        device=device,
        os=format_os(properties),
        emulator=is_emulator(properties),
        debuggable=properties.get("ro.debuggable") == "1",
        cpus=clocks.cpus,
        hardware_max_khz=clocks.hardware_max_khz,
    )


def _abi(properties: Mapping[str, str]) -> str | None:
    listed = properties.get("ro.product.cpu.abilist") or properties.get("ro.product.cpu.abi") or ""
    first = listed.split(",")[0].strip()
    return first if ABI.fullmatch(first) else None


def first_of(properties: Mapping[str, str], *keys: str) -> str | None:
    """Return the first property that has a value."""
    words = (properties.get(key, "").strip() for key in keys)
    return next((word for word in words if word and word.lower() != "unknown"), None)


def format_os(properties: Mapping[str, str]) -> str | None:
    """Format the name of the system: `Android 14 (UQ1A.240105.004)`."""
    release, build = properties.get("ro.build.version.release"), properties.get("ro.build.id")
    if not release:
        return None
    return f"Android {release} ({build})" if build else f"Android {release}"


def parse_present(text: str) -> int | None:
    """Count the CPUs in a list like `0-3,6`.

    >>> parse_present("0-3,6"), parse_present("cat: no such file")
    (5, None)
    """
    cpus = parse_cpu_list(text.strip())
    return None if cpus is None else len(cpus)


def unit_of_serials(text: str) -> str | None:
    """Hash the first valid serial number; None if none is valid."""
    words = (word.lower() for word in text.split())
    serial = next((word for word in words if word not in NO_SERIALS), None)
    return None if serial is None else hash_unit("android", serial)


def clusters(identity: Identity) -> dict[str, tuple[int, ...]]:
    """Map `little` and `big` to the CPUs of the slowest and fastest policy; empty if all CPUs are of one kind.

    A middle cluster belongs to neither: it is neither the fastest nor the most economical.
    """
    by_speed = sorted(identity.cpus, key=lambda policy: (identity.hardware_max_khz.get(policy, 0), policy))
    speeds = {identity.hardware_max_khz.get(policy, 0) for policy in by_speed}
    if len(speeds) < 2:  # noqa: PLR2004 - one kind of core
        return {}
    return {"little": identity.cpus[by_speed[0]], "big": identity.cpus[by_speed[-1]]}

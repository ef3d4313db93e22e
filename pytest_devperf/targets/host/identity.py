"""The facts that identify this machine.

Nothing here reads a clock, a temperature or free space: those belong to a run's context.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from pytest_devperf.sensor.proc import whole_gib
from pytest_devperf.targets.device import HOST, Device, hash_unit

PLACEHOLDERS = re.compile(
    r"to be filled by o\.?e\.?m\.?|default string|not (specified|applicable|available)|none|unknown|o\.?e\.?m\.?"
    r"|system (product name|manufacturer|version)|undefined|n/?a|x{3,}|0+|-+|\.+|product name|empty",
    re.IGNORECASE,
)
"""Placeholders that board makers leave in the firmware's identity table (DMI)."""

TIMEOUT_S = 5.0
"""Longest wait for `sysctl` and `ioreg`, which take about 10 ms."""


def parse_dmi(text: str | None) -> str | None:
    r"""Read one field of the firmware's identity table; None for a maker's placeholder.

    >>> parse_dmi("LENOVO\n"), parse_dmi("To Be Filled By O.E.M.\n")
    ('LENOVO', None)
    """
    word = " ".join((text or "").replace("\0", " ").split())
    return word if word and not PLACEHOLDERS.fullmatch(word) else None


def parse_cpuinfo(text: str) -> str | None:
    r"""Read the processor's name from `/proc/cpuinfo`.

    x86 calls it `model name`, MIPS `cpu model`, POWER `cpu`, RISC-V `uarch`. Arm names a board at best
    (`Hardware`); its implementer and part of every kind of core stand in for a name.

    >>> parse_cpuinfo("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n")
    'Arm 0x41-0xd0c'
    """
    fields: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), []).append(" ".join(value.split()))
    for key in ("model name", "cpu model", "cpu", "uarch", "Hardware"):
        # Some Arm kernels only print `ARMv7 Processor rev 4 (v7l)`, which is an architecture.
        names = [name for name in fields.get(key, []) if name and not name.startswith(("ARMv", "AArch64"))]
        if names:
            return ", ".join(dict.fromkeys(names))
    parts = dict.fromkeys(zip(fields.get("CPU implementer", []), fields.get("CPU part", []), strict=False))
    return " ".join(["Arm", *sorted("-".join(part) for part in parts)]) if parts else None


def unit_of_machine(machine_id: str) -> str:
    """Hash a machine's id."""
    return hash_unit(HOST, machine_id.strip().lower())


def read_device(identity: str = "model") -> Device:
    """Identify this machine.

    Args:
        identity: `model`: any unit of this model is the same device. `unit`: only this unit, identified by a salted
            hash of the system's id.
    """
    manufacturer, model, soc = _names()
    machine_id = _machine_id() if identity == "unit" else None
    return Device(
        kind=HOST,
        manufacturer=manufacturer,
        model=model,
        soc=soc,
        cores=os.cpu_count(),
        memory_gib=_memory_gib(),
        abi=platform.machine() or None,
        unit=unit_of_machine(machine_id) if machine_id else None,
    )


def _names() -> tuple[str | None, str | None, str | None]:
    """Read manufacturer, model and processor."""
    if sys.platform == "win32":
        return _windows_names()
    if sys.platform == "darwin":
        return (
            "Apple",
            _run("/usr/sbin/sysctl", "-n", "hw.model"),
            _run("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"),
        )
    return linux_names(Path("/"))


def linux_names(root: Path) -> tuple[str | None, str | None, str | None]:
    """Read manufacturer, model and processor of a Linux machine.

    Args:
        root: Folder that contains `sys` and `proc`; tests pass another one than `/`.
    """
    dmi = root / "sys/class/dmi/id"
    # Boards without such a table (Arm) give their name in the device tree.
    model = parse_dmi(_text(dmi / "product_name")) or parse_dmi(_text(root / "proc/device-tree/model"))
    return parse_dmi(_text(dmi / "sys_vendor")), model, parse_cpuinfo(_text(root / "proc/cpuinfo") or "")


def _windows_names() -> tuple[str | None, str | None, str | None]:
    bios, cpu = r"HARDWARE\DESCRIPTION\System\BIOS", r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
    names = _registry(bios, "SystemManufacturer"), _registry(bios, "SystemProductName")
    return parse_dmi(names[0]), parse_dmi(names[1]), parse_dmi(_registry(cpu, "ProcessorNameString"))


def _memory_gib() -> int | None:
    try:
        return whole_gib(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        import psutil

        return whole_gib(psutil.virtual_memory().total)


def _machine_id() -> str | None:
    if sys.platform == "win32":
        return _registry(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid")
    if sys.platform == "darwin":
        found = re.search(
            r'"IOPlatformUUID" = "([^"]+)"', _run("/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice") or ""
        )
        return found[1] if found else None
    text = _text(Path("/etc/machine-id")) or _text(Path("/var/lib/dbus/machine-id"))
    return (text or "").strip() or None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None


def _run(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _registry(path: str, name: str) -> str | None:
    if sys.platform == "win32":
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:
                return str(winreg.QueryValueEx(key, name)[0])
        except OSError:
            return None
    return None

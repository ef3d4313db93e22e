"""Describe the file system of a simulated phone as steps for its first process; pure data.

A step is a verb of `onboard/first_process.py`, a path on the phone, and the verb's arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_devperf.simphone.isolation.host_files import HostFiles

Step = Sequence[object]

CONTROL = "/dev/devperf"
"""Folder in which stub commands make requests, and in which the simulation publishes its slowdown."""

APPS = "/data/app"
"""Folder of installed apps."""

CARD = "/storage/emulated/0"
"""Storage that the user sees; `/sdcard` is a link to it."""

WRITABLE = ("/data/local/tmp", "/sdcard", CARD)
"""Folders that the shell user may write to."""

PROC = ("cpuinfo", "loadavg", "meminfo", "stat", "uptime", "version")
"""Files of `/proc` that describe the machine; the phone has its own."""

PROC_KEPT = ("cgroups", "filesystems", "mounts", "net", "self", "thread-self")
"""Other entries of `/proc` that the phone's programs see: equal everywhere, or their own."""

DEVICES = ("full", "null", "random", "tty", "urandom", "zero")

SEARCHABLE = 0o111
"""Mode of folders that the shell user may enter but not list."""

UNLISTED = 0o311
"""Mode of a folder that nobody lists and the session writes to; the phone sees it read-only."""

HOSTS = "127.0.0.1       localhost\n::1             ip6-localhost\n"
"""Android's own `/system/etc/hosts`."""

SCRIPTS = {
    "egrep": 'exec grep -E "$@"\n',
    "fgrep": 'exec grep -F "$@"\n',
    "which": 'code=0; for name; do command -v -- "$name" || code=1; done; exit $code\n',
}
"""Commands that many systems have as scripts, in a form without further dependencies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The steps of the first process."""

    steps: tuple[Step, ...]
    shown: tuple[tuple[str, int], ...] = ()
    """Files and folders (ending in a slash) that the session writes and the phone shows, with their modes."""


def isolated_layout(host_files: HostFiles, stubs: Mapping[str, str], *, sdk: int) -> Layout:
    """Describe a file system that contains nothing of this machine except the given files.

    Args:
        host_files: Programs and libraries of this machine.
        stubs: Android command -> text of its script; stubs take precedence over programs.
        sdk: API level: `/bin` exists since 29.
    """
    proc = [f"proc/{name}" for name in PROC]
    return Layout(
        steps=(
            *_system(host_files, stubs, sdk),
            *(("link", path, target) for path, target in host_files.links.items()),
            *(("bind", path, file) for path, file in (*host_files.libraries.items(), *host_files.runtime.items())),
            *(("bind", path, path) for path in (host_files.locale,) if path is not None),
            *(("memory", path, 0o555, True) for path in host_files.hidden),
            *_devices(),
            ("memory", "/data", SEARCHABLE, True),
            ("folder", "/data/local", SEARCHABLE),
            ("folder", "/data/local/tmp", 0o771),
            ("share", APPS, "app", False),
            ("memory", CARD, 0o771, False),
            ("share", "/sys", "sys", False),
            ("proc", "/proc"),
            *(("share", f"/{name}", name, False) for name in proc),
            ("hide_others", "/proc", (*PROC, *PROC_KEPT)),
        ),
        shown=(
            *(("sys/", 0o755), ("control/", 0o755), ("app/", UNLISTED), ("nowhere/", 0), ("nothing", 0)),
            *((name, 0o444) for name in proc),
        ),
    )


def translated_layout(tools: Mapping[str, str], stubs: Mapping[str, str]) -> Layout:
    """Describe a folder of this machine that paths are translated to.

    Args:
        tools: Command -> program of this machine.
        stubs: As for an isolated phone.
    """
    return Layout(
        steps=(
            *(("link", f"/system/bin/{name}", file) for name, file in tools.items() if name not in stubs),
            *(("file", f"/system/bin/{name}", text, 0o755) for name, text in stubs.items()),
            *(("folder", path, 0o755) for path in (*_FOLDERS, "/data/local/tmp", CARD, APPS, "/sys", "/proc")),
            ("link", "/sdcard", CARD.lstrip("/")),
        )
    )


_FOLDERS = ("/mnt", "/odm", "/product", "/vendor/lib64", "/system/lib64")


def _system(host_files: HostFiles, stubs: Mapping[str, str], sdk: int) -> Iterator[Step]:
    """Describe the parts that are the same on every phone of a family."""
    for path in _FOLDERS:
        yield ("folder", path, 0o755)
    for name, text in {**{name: f"#!/system/bin/sh\n{text}" for name, text in SCRIPTS.items()}, **stubs}.items():
        yield ("file", f"/system/bin/{name}", text, 0o755)
    for name, file in host_files.programs.items():
        if name not in stubs and name not in SCRIPTS:
            yield ("bind", f"/system/bin/{name}", file)
    yield ("file", "/system/etc/hosts", HOSTS, 0o644)
    yield ("link", "/etc", "system/etc")
    yield ("link", "/sdcard", CARD.lstrip("/"))
    if sdk >= 29:  # noqa: PLR2004 - added by Android 10
        yield ("link", "/bin", "system/bin")


def _devices() -> Iterator[Step]:
    for name in DEVICES:
        yield ("device", f"/dev/{name}", f"/dev/{name}")
    yield ("link", "/dev/fd", "/proc/self/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        yield ("link", f"/dev/{name}", f"/proc/self/fd/{number}")
    yield ("share", CONTROL, "control", True)

"""Create a separate file system, processes and network with Linux namespaces; no privilege is needed.

In a user namespace a process has all rights over what it creates, and none over the rest of the machine.
Sources: namespaces(7), user_namespaces(7), mount_namespaces(7), pivot_root(2).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

SHELL_UID = 2000
"""User `shell`, which runs adb's commands (AOSP: system/core/libcutils, android_filesystem_config.h)."""

STAGE = Path("/sys")
"""Folder on which the new file system is built: it exists everywhere and contains no file that a phone uses."""

NEW_MOUNTS, NEW_NAME, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = (
    0x20000,
    0x4000000,
    0x8000000,
    1 << 28,
    1 << 29,
    1 << 30,
)
"""CLONE_NEWNS and related flags (linux/sched.h)."""

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
"""MS_RDONLY and related flags (linux/mount.h)."""

LOCKED = {os.ST_NOSUID: NO_SUID, os.ST_NODEV: NO_DEVICES, os.ST_NOEXEC: NO_EXEC, 1024: 1024, 2048: 2048, 4096: 1 << 21}
"""Flags of a mount in statvfs(3) -> in mount(2): a bind mount must keep the restrictions of its source.
The numbers are noatime, nodiratime and relatime (linux/statfs.h, linux/mount.h)."""

DETACH = 2
"""MNT_DETACH (linux/mount.h)."""

PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "loongarch64": 41, "ppc64le": 203}
"""Number of a system call for which glibc has no function (linux/unistd.h of each machine)."""

CAPABILITY_VERSION = 0x20080522
"""_LINUX_CAPABILITY_VERSION_3 (linux/capability.h)."""

SIOCSIFFLAGS, UP = 0x8914, 1
"""Requests to set the flags of a network device, and the flag "up" (linux/sockios.h, linux/if.h)."""

NOT_MADE = {
    errno.ENOSPC: "user namespaces are disabled, see user.max_user_namespaces",
    errno.EPERM: "user namespaces are forbidden here",
    errno.EINVAL: "the kernel has no user namespaces",
}
"""Meaning of the kernel's errors when it refuses a namespace (unshare(2), namespaces(7))."""

_LIBC = ctypes.CDLL(None, use_errno=True)


def enter() -> None:
    """Leave the machine's namespaces; the next forked process is the first one in the new ones.

    Raises:
        OSError: The kernel does not allow it.
    """
    uid, gid = os.geteuid(), os.getegid()
    if _LIBC.unshare(NEW_MOUNTS | NEW_NAME | NEW_IPC | NEW_USER | NEW_PIDS | NEW_NETWORK) != 0:
        number = ctypes.get_errno()
        raise OSError(number, NOT_MADE.get(number, f"user namespaces: {os.strerror(number)}"))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{SHELL_UID} {uid} 1"),
        ("gid_map", f"{SHELL_UID} {gid} 1"),
    ):
        Path("/proc/self", name).write_text(text, encoding="ascii")


def stage() -> tuple[Path, Path]:
    """Create an empty file system for the new root, and one that both the phone and the session outside can write to.

    Returns:
        Folder of the new root, and folder of the shared file system.
    """
    _mount(None, "/", None, RECURSIVE | PRIVATE)
    _mount("tmpfs", STAGE, "tmpfs", NO_SUID | NO_DEVICES, "mode=0755")
    root, shown = STAGE / "root", STAGE / "shown"
    root.mkdir()
    shown.mkdir()
    _mount("tmpfs", root, "tmpfs", NO_SUID | NO_DEVICES, "mode=0755")
    return root, shown


def enter_root(root: Path) -> None:
    """Make the new root the only one, read-only, and enable the loopback device."""
    os.chdir(root)
    _remount_read_only(Path())
    number = PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"the number of pivot_root is not known on {platform.machine()}")
    _checked(_LIBC.syscall(number, b".", b"."), "changing the root")
    _checked(_LIBC.umount2(b".", DETACH), "unmounting the old root")
    os.chdir("/")
    socket.sethostname("localhost")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", UP))


def drop_capabilities() -> None:
    """Drop all rights beyond those of a user; an executed program has none anyway."""
    header = struct.pack("II", CAPABILITY_VERSION, 0)
    _checked(_LIBC.capset(header, bytes(24)), "giving up capabilities")


def bind(path: Path, source: str) -> None:
    """Bind a file or folder of the machine, read-only."""
    _make_mount_point(path, folder=Path(source).is_dir())
    _mount(source, path, None, BIND)
    _remount_read_only(path)


def bind_device(path: Path, source: str) -> None:
    """Bind a device of the machine, such as /dev/null, writable; it may not exist."""
    if not Path(source).exists():
        return
    _make_mount_point(path, folder=False)
    _mount(source, path, None, BIND)


def bind_shared(path: Path, source: Path, *, writable: bool) -> None:
    """Bind a file or folder of the shared file system."""
    _make_mount_point(path, folder=source.is_dir())
    _mount(source, path, None, BIND)
    if not writable:
        _remount_read_only(path)


def hide_others(proc: Path, kept: Sequence[str], shown: Path) -> None:
    """Hide the parts of `/proc` that describe the machine, as a phone's policy does.

    Args:
        proc: Its mount point.
        kept: Names that stay visible, in addition to the processes.
        shown: The shared file system, which contains a file and a folder that nobody may read.
    """
    for path in sorted(proc.iterdir()):
        if path.name not in kept and not path.name.isdigit():
            _mount(shown / ("nowhere" if path.is_dir() else "nothing"), path, None, BIND)


def mount_memory(path: Path, *, mode: int, executable: bool) -> None:
    """Mount an empty file system in memory."""
    _make_mount_point(path, folder=True)
    _mount("tmpfs", path, "tmpfs", NO_SUID | NO_DEVICES | (0 if executable else NO_EXEC), f"mode={mode:o}")


def mount_proc(path: Path) -> None:
    """Mount `/proc` with only the processes of this namespace."""
    _make_mount_point(path, folder=True)
    _mount("proc", path, "proc", NO_SUID | NO_DEVICES | NO_EXEC)


def _make_mount_point(path: Path, *, folder: bool) -> None:
    if path.exists():
        return
    if folder:
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o444)


def _remount_read_only(path: Path) -> None:
    flags = os.statvfs(path).f_flag
    kept = sum(flag for shown, flag in LOCKED.items() if flags & shown)
    _mount(None, path, None, REMOUNT | BIND | READ_ONLY | kept)


def _mount(
    source: str | Path | None, path: str | Path, kind: str | None, flags: int, options: str | None = None
) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, path, kind, options)]
    done = _LIBC.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3])
    _checked(done, f"mounting {source or path}")


def _checked(done: int, doing: str) -> None:
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)} while {doing}")

"""The first process of a simulated phone: it creates the file system, starts all programs, and ends them.

The session controls it over a socket (`onboard/channel.py`). The phone ends with the session, however the session
dies: when the socket is closed or the session's process has exited, this process exits, and with the first process
of a namespace the kernel ends every other process in it.

"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .channel import Channel, Message
from .serve import System

PR_SET_CHILD_SUBREAPER = 36
"""Makes a process the parent of all orphans below it (prctl(2))."""

Step = Callable[..., None]


def main(control: int, session: int) -> None:
    """Read the plan of the phone, become its first process, and serve until the session ends.

    Args:
        control: The socket to the session.
        session: A handle that becomes readable when the session's process ends; -1 if the system has none.
    """
    for handle in (control, session):
        if handle >= 0:
            os.set_inheritable(handle, False)  # noqa: FBT003 - signature of the standard library
    os.umask(0o022)
    channel = Channel(socket.socket(fileno=control))
    plan, _ = channel.read()
    if plan is None:
        return
    try:
        system = _isolate(channel, plan) if plan["isolate"] else _translate(channel, plan)
    except OSError as error:
        channel.send({"failed": error.strerror or str(error)})
        return
    if system is None:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is meant for the session
    system.serve(session)
    if not plan["isolate"]:
        system.end_all()
        shutil.rmtree(plan["base"], ignore_errors=True)


def _isolate(channel: Channel, plan: Message) -> System | None:
    """Become the first process of a phone that sees nothing of this machine; return None in the outer process.

    Raises:
        OSError: The kernel does not allow it.
    """
    from . import namespaces

    namespaces.enter()
    pid = os.fork()
    if pid:
        channel.send({"pid": pid})
        channel.connection.close()
        os.waitpid(pid, 0)
        return None
    root, shown = namespaces.stage()
    for name, mode in plan["shown"]:
        _make_shown(shown / name, mode, folder=name.endswith("/"))
    _carry_out(
        plan["steps"],
        root,
        {
            "folder": _make_folder,
            "link": _make_link,
            "file": _write_file,
            "bind": namespaces.bind,
            "device": namespaces.bind_device,
            "share": lambda path, name, writable: namespaces.bind_shared(path, shown / name, writable=writable),
            "hide_others": lambda path, kept: namespaces.hide_others(path, kept, shown),
            "memory": lambda path, mode, executable: namespaces.mount_memory(path, mode=mode, executable=executable),
            "proc": namespaces.mount_proc,
        },
    )
    handles = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (shown, root / "data/local/tmp")]
    namespaces.enter_root(root)
    channel.send({"ready": True}, handles)
    for handle in handles:
        os.close(handle)
    return System(channel, root=Path("/"), drop_rights=namespaces.drop_capabilities)


def _translate(channel: Channel, plan: Message) -> System:
    """Become the first process of a phone that is a folder of this machine."""
    root = Path(plan["base"], "phone")
    root.mkdir(mode=0o755)
    _carry_out(plan["steps"], root, {"folder": _make_folder, "link": _make_link, "file": _write_file})
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    channel.send({"pid": os.getpid()})
    channel.send({"ready": True})
    return System(channel, root=root, writable=plan["writable"])


def _carry_out(steps: Sequence[Sequence[object]], root: Path, words: dict[str, Step]) -> None:
    for word, path, *rest in steps:
        words[str(word)](root / str(path).lstrip("/"), *rest)


def _make_shown(path: Path, mode: int, *, folder: bool) -> None:
    if folder:
        path.mkdir()
    else:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    path.chmod(mode)


def _make_folder(path: Path, mode: int) -> None:
    path.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.chmod(mode)


def _make_link(path: Path, target: str) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.symlink_to(target)


def _write_file(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if path.exists():
        raise FileExistsError(errno.EEXIST, "a step occurs twice in the plan", str(path))
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    path.chmod(mode)

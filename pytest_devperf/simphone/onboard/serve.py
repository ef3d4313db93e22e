"""The work of the first process: start programs, serve files, create sockets, and collect exit codes."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .channel import Channel, Message
from .files import FileService
from .tree import Tree

UMASK = 0
"""The umask that adbd gives its commands (AOSP: packages/modules/adb, daemon/main.cpp)."""

NOT_FOUND = 127
"""A shell's return code for a program that cannot be started."""


class System:
    """A running phone, from the view of its first process.

    Args:
        channel: The channel to the session.
        root: Folder of this machine that is the phone's root.
        drop_rights: Drops all rights beyond those of a user.
        writable: Whether a push may write to a path of the phone; None: the kernel decides.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        root: Path,
        drop_rights: Callable[[], None] = lambda: None,
        writable: Sequence[str] | None = None,
    ) -> None:
        self._channel = channel
        self._root = root
        self._drop_rights = drop_rights
        self._writable = writable
        self._children: set[int] = set()
        self._dead, wake = os.pipe()
        for end in (self._dead, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # the pipe wakes this process
        signal.set_wakeup_fd(wake)

    def serve(self, session: int) -> None:
        """Carry out the session's requests until it ends.

        Args:
            session: A handle that becomes readable when the session's process ends; -1 for none.
        """
        watched = [self._channel.connection.fileno(), self._dead, *([session] if session >= 0 else [])]
        while True:
            ready, _, _ = select.select(watched, [], [])
            if session in ready:
                return
            if self._dead in ready:
                self._collect()
            if watched[0] in ready:
                if not self._channel.receive():
                    return
                while (taken := self._channel.take()) is not None:
                    self._do(*taken)

    def end_all(self) -> None:
        """End every process started here, with all descendants.

        In a namespace the kernel does it when this process exits. Elsewhere the process sessions are ended one by one;
        on Linux, processes that left their session become orphans of this one.
        """
        while left := self._children | _children_of(os.getpid()):
            for pid in left:
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self._collect(wait=True)

    # -- below -----------------------------------------------------------------------------------

    def _do(self, message: Message, files: list[int]) -> None:
        try:
            if message["do"] == "run":
                environment = message["environment"]
                self._start(message, lambda: _execute(message["words"], environment, message["cwd"], files))
            elif message["do"] == "files":
                self._start(message, lambda: self._serve_files(files[0], full=message["full"]))
            elif message["do"] == "socket":
                with socket.socket() as made:
                    self._channel.send({"id": message["id"]}, [made.fileno()])
            elif message["pid"] in self._children:
                os.kill(message["pid"], message["signal"])
        finally:
            for file in files:
                os.close(file)

    def _start(self, message: Message, act: Callable[[], None]) -> None:
        """Do something in a separate process."""
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.set_wakeup_fd(-1)
                # A hangup is ignored here if the session runs under nohup; a command on a phone must not ignore it.
                for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
                    signal.signal(number, signal.SIG_DFL)
                os.setsid()
                os.umask(UMASK)
                act()
                code = 0
            finally:
                os._exit(code)
        self._children.add(pid)
        self._channel.send({"id": message["id"], "pid": pid})

    def _serve_files(self, connection: int, *, full: bool) -> None:
        self._drop_rights()
        with socket.socket(fileno=os.dup(connection)) as stream:
            FileService(stream, Tree(root=self._root, writable=self._may_write, full=full)).serve()

    def _may_write(self, path: str) -> bool:
        plain = os.path.normpath("/" + path.lstrip("/"))
        return self._writable is None or any(plain == at or plain.startswith(f"{at}/") for at in self._writable)

    def _collect(self, *, wait: bool = False) -> None:
        """Collect exited processes, and report those that the session started."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._dead, 4096)
        how = 0 if wait else os.WNOHANG
        while True:
            try:
                pid, status = os.waitpid(-1, how)
            except ChildProcessError:
                self._children.clear()
                return
            if pid == 0:
                return
            how = os.WNOHANG
            if pid in self._children:
                self._children.discard(pid)
                code = os.waitstatus_to_exitcode(status)
                self._channel.send({"ended": pid, "code": 128 - code if code < 0 else code})


def _execute(words: Sequence[str], environment: Mapping[str, str], cwd: str, files: Sequence[int]) -> None:
    """Replace this process by a program; the files become its standard streams, the last one also the missing ones."""
    for number in range(3):
        os.dup2(files[min(number, len(files) - 1)], number)
    try:
        os.chdir(cwd)
        os.execve(words[0], list(words), environment)  # noqa: S606 - a shell is not needed
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode())
        os._exit(NOT_FOUND)


def _children_of(pid: int) -> set[int]:
    """List a process's children, including adopted orphans; empty if the kernel does not list them."""
    with contextlib.suppress(OSError):
        return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()}
    return set()

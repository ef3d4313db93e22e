"""What the first process does for the session: it starts programs, serves files, makes sockets, collects the ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .files import FileService
from .link import Link, Message
from .tree import Tree

UMASK = 0
"""What adbd leaves to its commands (AOSP: packages/modules/adb, daemon/main.cpp)."""

NOT_FOUND = 127
"""What a shell returns for a program that cannot be started."""


class System:
    """A running phone, seen from its first process.

    Args:
        link: The conversation with the session.
        root: Folder of this machine that is the phone's root.
        drop_rights: Gives up what goes beyond a user's rights.
        writable: Folders of the phone that a push may write to; None leaves it to the kernel.
    """

    def __init__(
        self,
        link: Link,
        *,
        root: Path,
        drop_rights: Callable[[], None] = lambda: None,
        writable: Sequence[str] | None = None,
    ) -> None:
        self._link = link
        self._root = root
        self._drop_rights = drop_rights
        self._writable = writable
        self._children: set[int] = set()
        self._dead, wake = os.pipe()
        for end in (self._dead, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # the pipe wakes us
        signal.set_wakeup_fd(wake)

    def serve(self, session: int) -> None:
        """Do what the session asks for until it is gone.

        Args:
            session: A handle that becomes readable when the session's process ends; -1 for none.
        """
        watched = [self._link.connection.fileno(), self._dead, *([session] if session >= 0 else [])]
        while True:
            ready, _, _ = select.select(watched, [], [])
            if session in ready:
                return
            if self._dead in ready:
                self._collect()
            if watched[0] in ready:
                if not self._link.receive():
                    return
                while (taken := self._link.take()) is not None:
                    self._do(*taken)

    def end_all(self) -> None:
        """End every process that was started here, and all they started.

        In a namespace the kernel does it when this process ends. Elsewhere their sessions are ended one by one; on
        Linux, what has left its session becomes an orphan of ours.
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
                    self._link.send({"id": message["id"]}, [made.fileno()])
            elif message["pid"] in self._children:
                os.kill(message["pid"], message["signal"])
        finally:
            for file in files:
                os.close(file)

    def _start(self, message: Message, act: Callable[[], None]) -> None:
        """Do something in a process of its own."""
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.set_wakeup_fd(-1)
                # A hangup is ignored here if the session runs under nohup; a phone's command heeds it.
                for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
                    signal.signal(number, signal.SIG_DFL)
                os.setsid()
                os.umask(UMASK)
                act()
                code = 0
            finally:
                os._exit(code)
        self._children.add(pid)
        self._link.send({"id": message["id"], "pid": pid})

    def _serve_files(self, connection: int, *, full: bool) -> None:
        self._drop_rights()
        with socket.socket(fileno=os.dup(connection)) as stream:
            FileService(stream, Tree(root=self._root, writable=self._may_write, full=full)).serve()

    def _may_write(self, path: str) -> bool:
        plain = os.path.normpath("/" + path.lstrip("/"))
        return self._writable is None or any(plain == at or plain.startswith(f"{at}/") for at in self._writable)

    def _collect(self, *, wait: bool = False) -> None:
        """Collect processes that have ended, and report those that the session started."""
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
                self._link.send({"ended": pid, "code": 128 - code if code < 0 else code})


def _execute(words: Sequence[str], environment: Mapping[str, str], cwd: str, files: Sequence[int]) -> None:
    """Become a program; the files are its standard streams, the last one for all that are missing."""
    for number in range(3):
        os.dup2(files[min(number, len(files) - 1)], number)
    try:
        os.chdir(cwd)
        os.execve(words[0], list(words), environment)  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode())
        os._exit(NOT_FOUND)


def _children_of(pid: int) -> set[int]:
    """List a process's children, adopted orphans among them; none if the kernel does not list them."""
    with contextlib.suppress(OSError):
        return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()}
    return set()

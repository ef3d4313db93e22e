"""The operating system of one phone, controlled through its first process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_devperf.errors import TargetError
from pytest_devperf.simphone.onboard.channel import Channel, Message

BOOT_S = 60.0
"""Longest wait for the first process: it takes a tenth of a second, but a busy machine starts programs slowly."""

PROGRAM = (
    "import sys; sys.path.append(sys.argv[1]); from onboard.first_process import main; main(*map(int, sys.argv[2:]))"
)
"""Loads these modules without their parent packages, which would import everything else."""

KILLED = 128 + 9
"""A shell's return code for a program that was killed."""


class NotIsolatedError(Exception):
    """This machine does not allow the phone its own file system; the message gives the reason."""


class System:
    """A booted phone.

    Args:
        plan: The work of the first process: whether to isolate the phone, and the steps of its file system.

    Raises:
        NotIsolatedError: The plan isolates the phone, but the kernel does not allow it.
        TargetError: The first process did not start.
    """

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.pid = 0
        """Process id of the first process on this machine; on the phone it is 1."""
        self.isolated: bool = plan["isolate"]
        self.handles: list[int] = []
        """Open folders of an isolated phone: the published files, and the shell user's folder."""
        ours, theirs = socket.socketpair()
        with theirs:
            session = _own_handle()
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", "-c", PROGRAM, str(Path(__file__).parents[1])),
                    *(str(theirs.fileno()), str(session)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), *([session] if session >= 0 else [])],
                start_new_session=True,  # a Ctrl-C in the terminal is meant for the session
            )
            if session >= 0:
                os.close(session)
        self._channel = Channel(ours)
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[_Reply]] = {}
        self._running: dict[int, asyncio.Future[int]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        try:
            self._boot(plan)
        except BaseException:
            self.end()
            raise

    def attach(self) -> None:
        """Read messages from the first process in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._channel.connection.settimeout(None)
        self._loop.add_reader(self._channel.connection, self._receive)

    def detach(self) -> None:
        """Stop reading them."""
        if self._loop is not None:
            self._loop.remove_reader(self._channel.connection)
            self._loop = None
        self._forget_all()

    async def run(
        self, words: Sequence[str], files: Sequence[int], *, environment: Mapping[str, str], cwd: str
    ) -> tuple[int, asyncio.Future[int]]:
        """Start a program.

        Args:
            words: Its path and arguments.
            files: Its standard streams; the last one replaces missing ones.
            environment: Its complete environment.
            cwd: Its working directory.

        Returns:
            Its process id on the phone, and a future of its return code.
        """
        return await self._start(
            {"do": "run", "words": list(words), "environment": dict(environment), "cwd": cwd}, files
        )

    async def serve_files(self, connection: socket.socket, *, full: bool) -> None:
        """Serve a connection of adb's `sync:` in a separate process."""
        await self._start({"do": "files", "full": full}, [connection.fileno()])

    async def make_socket(self) -> socket.socket:
        """Create a TCP socket in the phone's network."""
        return socket.socket(fileno=(await self._ask({"do": "socket"})).handles[0])

    def kill(self, pid: int, number: int) -> None:
        """Send a signal to a program that was started here and has not exited."""
        self._channel.send({"do": "kill", "pid": pid, "signal": number})

    def end(self) -> None:
        """Switch it off: every process on it ends."""
        with contextlib.suppress(OSError):
            self._channel.connection.shutdown(socket.SHUT_RDWR)
        self._process.wait()
        self._channel.connection.close()
        for handle in self.handles:
            os.close(handle)
        self.handles.clear()

    # -- below -----------------------------------------------------------------------------------

    def _boot(self, plan: Mapping[str, Any]) -> None:
        self._channel.connection.settimeout(BOOT_S)
        self._channel.send({**plan})
        ready = False
        while not (ready and self.pid):
            message, handles = self._channel.read()
            if message is None:
                raise TargetError("the simulated phone did not boot", f"check that {sys.executable} can start programs")
            if "failed" in message:
                raise NotIsolatedError(message["failed"])
            ready = ready or message.get("ready", False)
            self.pid = message.get("pid", self.pid)
            self.handles += handles

    async def _start(self, message: Message, files: Sequence[int]) -> tuple[int, asyncio.Future[int]]:
        answer = await self._ask(message, files)
        assert answer.ended is not None
        return answer.pid, answer.ended

    async def _ask(self, message: Message, files: Sequence[int] = ()) -> _Reply:
        number = next(self._numbers)
        answer: asyncio.Future[_Reply] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._channel.send({"id": number, **message}, files)
        return await answer

    def _receive(self) -> None:
        if not self._channel.receive():
            self.detach()
            return
        while (taken := self._channel.take()) is not None:
            self._take(*taken)

    def _take(self, message: Message, handles: list[int]) -> None:
        if "ended" in message:
            ended = self._running.pop(message["ended"], None)
            if ended is not None and not ended.done():
                ended.set_result(message["code"])
            return
        pid = message.get("pid", 0)
        ended = None
        if pid:
            assert self._loop is not None
            ended = self._running[pid] = self._loop.create_future()
        answer = self._answers.pop(message["id"], None)
        if answer is not None and not answer.done():
            answer.set_result(_Reply(pid, ended, handles))
            return
        # The caller no longer waits.
        for handle in handles:
            os.close(handle)
        if pid:
            self.kill(pid, signal.SIGHUP)

    def _forget_all(self) -> None:
        """End every wait: the phone has exited."""
        for ended in self._running.values():
            if not ended.done():
                ended.set_result(KILLED)
        self._running.clear()
        for answer in self._answers.values():
            answer.cancel()
        self._answers.clear()


class _Reply(NamedTuple):
    """A response of the first process."""

    pid: int
    """Process id on the phone of the started program; 0 if it started none."""
    ended: asyncio.Future[int] | None
    """Future of that program's return code."""
    handles: list[int]
    """Open files sent with it."""


def _own_handle() -> int:
    """Open a handle that becomes readable when this process exits (pidfd_open(2)); -1 if the system has none."""
    try:
        return os.pidfd_open(os.getpid())
    except (AttributeError, OSError):
        return -1

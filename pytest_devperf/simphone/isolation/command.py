"""A command that really runs on a simulated phone: its pipes and its exit."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Mapping, Sequence

from pytest_devperf.simphone.isolation.system import System


class RunningCommand:
    """A running command.

    Its stdin is a socket and its outputs are pipes, as on a phone, whose daemon uses a socket for stdin too.
    """

    def __init__(self, system: System, pid: int, ended: asyncio.Future[int], stdin: asyncio.StreamWriter) -> None:
        self.pid = pid
        """Its process id on the phone."""
        self.stdin = stdin
        self._system = system
        self._ended = ended
        self._pipes: list[asyncio.ReadTransport] = []

    @classmethod
    async def start(
        cls, system: System, words: Sequence[str], *, environment: Mapping[str, str], cwd: str, joined: bool
    ) -> tuple[RunningCommand, list[asyncio.StreamReader]]:
        """Start a command.

        Args:
            system: The phone that it runs on.
            words: The program and its arguments.
            environment: Its complete environment.
            cwd: Its working directory.
            joined: Whether stderr is redirected to stdout.

        Returns:
            The command, and its outputs: one, or stdout and stderr.
        """
        ours, theirs = socket.socketpair()
        pipes = [os.pipe() for _ in range(1 if joined else 2)]
        files = [theirs.fileno(), *(write for _read, write in pipes)]
        try:
            pid, ended = await system.run(words, files, environment=environment, cwd=cwd)
        except BaseException:
            ours.close()
            for read, _write in pipes:
                os.close(read)
            raise
        finally:
            theirs.close()
            for _read, write in pipes:
                os.close(write)
        _unused, stdin = await asyncio.open_connection(sock=ours)
        command = cls(system, pid, ended, stdin)
        return command, [await command._reader(read) for read, _write in pipes]

    def end_input(self) -> None:
        """Close its stdin."""
        if self.stdin.can_write_eof() and not self.stdin.is_closing():
            with contextlib.suppress(OSError):
                self.stdin.write_eof()

    async def wait(self) -> int:
        """Wait for its exit; for a signal the code is 128 plus its number, as in a shell."""
        return await asyncio.shield(self._ended)

    def kill(self, number: int) -> None:
        """Send a signal, unless it has exited."""
        if not self._ended.done():
            self._system.kill(self.pid, number)

    def hang_up(self) -> None:
        """Send the hangup of a client that has disconnected; as on a phone, only the shell receives it."""
        self.kill(signal.SIGHUP)

    def close(self) -> None:
        """Close its pipes; it may keep running without them."""
        self.stdin.close()
        for pipe in self._pipes:
            pipe.close()

    async def _reader(self, handle: int) -> asyncio.StreamReader:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        file = os.fdopen(handle, "rb", buffering=0)
        pipe, _protocol = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), file)
        self._pipes.append(pipe)
        return reader

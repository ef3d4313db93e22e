"""One command that runs on a simulated phone for real: its pipes and its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Mapping, Sequence

from pytest_devperf.simphone.system import System


class Command:
    """A running command.

    Its stdin is a socket and its outputs are pipes: a phone's daemon gives it a socket for stdin, too.
    """

    def __init__(self, system: System, pid: int, ended: asyncio.Future[int], stdin: asyncio.StreamWriter) -> None:
        self.pid = pid
        """Its number on the phone."""
        self.stdin = stdin
        self._system = system
        self._ended = ended
        self._pipes: list[asyncio.ReadTransport] = []

    @classmethod
    async def start(
        cls, system: System, words: Sequence[str], *, environment: Mapping[str, str], cwd: str, joined: bool
    ) -> tuple[Command, list[asyncio.StreamReader]]:
        """Start it.

        Args:
            system: The phone it runs on.
            words: The program and its arguments.
            environment: All of its environment.
            cwd: Its folder.
            joined: Whether its errors go where its output goes.

        Returns:
            The command, and its outputs: one, or output and errors.
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
        """Let it read the end of its stdin."""
        if self.stdin.can_write_eof() and not self.stdin.is_closing():
            with contextlib.suppress(OSError):
                self.stdin.write_eof()

    async def wait(self) -> int:
        """Wait for its end; for a signal the code is 128 and its number, as in a shell."""
        return await asyncio.shield(self._ended)

    def kill(self, number: int) -> None:
        """Send it a signal, if it has not ended."""
        if not self._ended.done():
            self._system.kill(self.pid, number)

    def hang_up(self) -> None:
        """Send it the hangup of an asker that has gone; as on a phone, the shell alone gets it."""
        self.kill(signal.SIGHUP)

    def close(self) -> None:
        """Let go of its pipes; it may go on without them."""
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

"""One command that runs for real: its process, its pipes, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

SIGHUP = 1
"""What a command gets when the one who asked for it has gone; `signal.SIGHUP` is missing on Windows."""

POLL_S = 0.002
"""How often an ending process is asked whether it has ended: its pipes are closed already, so it is soon."""


def hangups_are_ignored() -> bool:
    """Find out whether this process ignores hangups, as under nohup: what it starts would inherit that."""
    return os.name == "posix" and signal.getsignal(SIGHUP) == signal.SIG_IGN


def _heed_hangups() -> None:
    signal.signal(SIGHUP, signal.SIG_DFL)


class Command:
    """A running command.

    Its stdin is a socket and its outputs are pipes: a phone's daemon gives it a socket for stdin, too.
    """

    def __init__(self, process: subprocess.Popen[bytes], stdin: asyncio.StreamWriter) -> None:
        self.process = process
        self.stdin = stdin
        self._pipes: list[asyncio.ReadTransport] = []

    @classmethod
    async def start(
        cls, words: Sequence[str], *, cwd: Path, environment: Mapping[str, str], joined: bool
    ) -> tuple[Command, list[asyncio.StreamReader]]:
        """Start it.

        Args:
            words: The program and its arguments.
            cwd: Its folder.
            environment: All of its environment.
            joined: Whether its errors go where its output goes.

        Returns:
            The command, and its outputs: one, or output and errors.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: ASYNC220 - a few milliseconds, and asyncio lends no pipes
                words,
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if joined else subprocess.PIPE,
                cwd=cwd,
                env=environment,
                bufsize=0,
                start_new_session=True,
                preexec_fn=_heed_hangups if hangups_are_ignored() else None,  # noqa: PLW1509 - sets one signal alone
            )
        _unused, stdin = await asyncio.open_connection(sock=ours)
        command = cls(process, stdin)
        files = [file for file in (process.stdout, process.stderr) if file is not None]
        return command, [await command._reader(file) for file in files]

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def end_input(self) -> None:
        """Let it read the end of its stdin."""
        if self.stdin.can_write_eof() and not self.stdin.is_closing():
            with contextlib.suppress(OSError):
                self.stdin.write_eof()

    async def wait(self) -> int:
        """Wait for its end; a signal reads 128 and its number, as a shell tells it."""
        while (code := self.process.poll()) is None:  # noqa: ASYNC110 - nothing tells of an end but asking
            await asyncio.sleep(POLL_S)
        return 128 - code if code < 0 else code & 0xFF

    def hang_up(self) -> None:
        """Tell it that its asker has gone; like on a phone only the shell itself is told."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, SIGHUP)

    def close(self) -> None:
        """Let go of its pipes; it may go on without them."""
        self.stdin.close()
        for pipe in self._pipes:
            pipe.close()

    async def _reader(self, file: IO[bytes]) -> asyncio.StreamReader:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        pipe, _protocol = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader, loop=loop), file)
        self._pipes.append(pipe)
        return reader

"""The `shell:`, `shell,v2:` and `exec:` services: commands run for real, by the phone's shell."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Callable
from dataclasses import dataclass

from pytest_devperf.simphone.command import Command
from pytest_devperf.simphone.daemon import Stream, StreamClosedError
from pytest_devperf.simphone.mishap import Mishap
from pytest_devperf.simphone.sandbox import Sandbox

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
"""Packet kinds of the shell protocol. Source: AOSP `packages/modules/adb/shell_protocol.h`."""

_HEADER = struct.Struct("<BI")

READ_BYTES = 32 * 1024
"""Most that is taken from a command's output at a time."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a shell stands on."""

    sandbox: Sandbox
    mishap: Mishap
    began: Callable[[Command], None]
    """Told of every command as it begins."""
    ended: Callable[[Command], None]
    """Told when nobody listens to it any more, whether it has ended or not."""


class _Mouth:
    """Where a command's output goes, in the form that the service promised."""

    def __init__(self, stream: Stream, ground: Ground, *, packets: bool) -> None:
        self._stream = stream
        self._packets = packets
        self._left = ground.mishap.cut_after_bytes

    async def say(self, kind: int, data: bytes) -> None:
        """Send one piece; a cut answer ends here, without a word."""
        if not data:
            return
        if self._left is not None:
            data, self._left = data[: self._left], self._left - len(data)
        await self._stream.write(_HEADER.pack(kind, len(data)) + data if self._packets else data)
        if self._left is not None and self._left < 0:
            raise StreamClosedError("this phone cuts long output")

    async def exit(self, code: int) -> None:
        """Tell the return code, where there is a way to tell it."""
        if self._packets:
            await self._stream.write(_HEADER.pack(EXIT, 1) + bytes([code]))


async def serve_shell(stream: Stream, ground: Ground, text: str, *, packets: bool) -> None:
    """Run a command and pass its bytes both ways.

    Args:
        stream: The conversation.
        ground: Sandbox, mishap, and who wants to know.
        text: Shell text as sent; empty reads the commands from stdin.
        packets: Whether the shell protocol (version 2) was asked for; without it stderr joins stdout.
    """
    sandbox = ground.sandbox
    command, outputs = await Command.start(
        sandbox.system,
        sandbox.shell_words(text),
        environment=sandbox.environment(),
        cwd=sandbox.place("/"),
        joined=not packets,
    )
    ground.began(command)
    entrance = _Ear(stream, command, packets=packets, commands=None if text else sandbox.inward)
    listening = asyncio.ensure_future(entrance.listen())
    mouth = _Mouth(stream, ground, packets=packets)
    pumps = [asyncio.ensure_future(_pump(output, kind, mouth, sandbox)) for kind, output in enumerate(outputs, STDOUT)]
    try:
        await asyncio.gather(*pumps)
        await mouth.exit(await command.wait())
    finally:
        for task in (listening, *pumps):
            task.cancel()
        command.hang_up()
        command.close()
        ground.ended(command)


async def _pump(source: asyncio.StreamReader, kind: int, mouth: _Mouth, sandbox: Sandbox) -> None:
    back = sandbox.outward()
    while data := await source.read(READ_BYTES):
        await mouth.say(kind, data if back is None else back.feed(data))
    if back is not None:
        await mouth.say(kind, back.end())


class _Ear:
    """Passes on to a command what comes for its stdin, and that nobody is there any more."""

    def __init__(
        self, stream: Stream, command: Command, *, packets: bool, commands: Callable[[bytes], bytes] | None
    ) -> None:
        self._stream = stream
        self._command = command
        self._packets = packets
        self._translated = commands or (lambda data: data)
        """What becomes of the input: it may hold commands."""

    async def listen(self) -> None:
        """Pass on until the end."""
        with contextlib.suppress(StreamClosedError, OSError):
            while data := await (self._packet() if self._packets else self._stream.read()):
                self._command.stdin.write(self._translated(data))
                await self._command.stdin.drain()
        self._command.end_input()
        await self._stream.closed.wait()
        self._command.hang_up()

    async def _packet(self) -> bytes:
        """The next bytes for stdin; empty when it was closed."""
        while True:
            kind, size = _HEADER.unpack(await self._stream.read_exactly(_HEADER.size))
            data = await self._stream.read_exactly(size)
            if kind == CLOSE_STDIN:
                return b""
            if kind == STDIN and data:
                return data

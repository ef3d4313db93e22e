"""The `shell:`, `shell,v2:` and `exec:` services: the phone's shell really runs the commands."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Callable
from dataclasses import dataclass

from pytest_devperf.simphone.adb.daemon import AdbStream, StreamClosedError
from pytest_devperf.simphone.isolation.command import RunningCommand
from pytest_devperf.simphone.isolation.sandbox import Sandbox
from pytest_devperf.simphone.state.mishap import Mishap

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
"""Packet kinds of the shell protocol. Source: AOSP `packages/modules/adb/shell_protocol.h`."""

_HEADER = struct.Struct("<BI")

READ_BYTES = 32 * 1024
"""Bytes of a command's output to read at a time."""


@dataclass(frozen=True, slots=True)
class ShellContext:
    """The environment of a shell command."""

    sandbox: Sandbox
    mishap: Mishap
    began: Callable[[RunningCommand], None]
    """Called when a command starts."""
    ended: Callable[[RunningCommand], None]
    """Called when the client has disconnected, whether the command has exited or not."""


class _OutputWriter:
    """Sends a command's output in the format of the service."""

    def __init__(self, stream: AdbStream, context: ShellContext, *, packets: bool) -> None:
        self._stream = stream
        self._packets = packets
        self._left = context.mishap.cut_after_bytes

    async def send(self, kind: int, data: bytes) -> None:
        """Send one piece; output that a mishap cuts ends here without notice."""
        if not data:
            return
        if self._left is not None:
            data, self._left = data[: self._left], self._left - len(data)
        await self._stream.write(_HEADER.pack(kind, len(data)) + data if self._packets else data)
        if self._left is not None and self._left < 0:
            raise StreamClosedError("this phone cuts long output")

    async def exit(self, code: int) -> None:
        """Send the return code, if the format has one."""
        if self._packets:
            await self._stream.write(_HEADER.pack(EXIT, 1) + bytes([code]))


async def serve_shell(stream: AdbStream, context: ShellContext, text: str, *, packets: bool) -> None:
    """Run a command and forward its input and output.

    Args:
        stream: The adb stream.
        context: The environment of the command.
        text: Shell command as sent; if empty, commands are read from stdin.
        packets: Whether to use the shell protocol (version 2); without it stderr is redirected to stdout.
    """
    sandbox = context.sandbox
    command, outputs = await RunningCommand.start(
        sandbox.system,
        sandbox.shell_words(text),
        environment=sandbox.environment(),
        cwd=sandbox.place("/"),
        joined=not packets,
    )
    context.began(command)
    entrance = _InputReader(stream, command, packets=packets, commands=None if text else sandbox.inward)
    listening = asyncio.ensure_future(entrance.listen())
    writer = _OutputWriter(stream, context, packets=packets)
    pumps = [asyncio.ensure_future(_pump(output, kind, writer, sandbox)) for kind, output in enumerate(outputs, STDOUT)]
    try:
        await asyncio.gather(*pumps)
        await writer.exit(await command.wait())
    finally:
        for task in (listening, *pumps):
            task.cancel()
        command.hang_up()
        command.close()
        context.ended(command)


async def _pump(source: asyncio.StreamReader, kind: int, writer: _OutputWriter, sandbox: Sandbox) -> None:
    back = sandbox.outward()
    while data := await source.read(READ_BYTES):
        await writer.send(kind, data if back is None else back.feed(data))
    if back is not None:
        await writer.send(kind, back.end())


class _InputReader:
    """Forwards input to a command's stdin, and the disconnection of the client."""

    def __init__(
        self, stream: AdbStream, command: RunningCommand, *, packets: bool, commands: Callable[[bytes], bytes] | None
    ) -> None:
        self._stream = stream
        self._command = command
        self._packets = packets
        self._translated = commands or (lambda data: data)
        """Translates the input, which may contain commands."""

    async def listen(self) -> None:
        """Forward input until the end."""
        with contextlib.suppress(StreamClosedError, OSError):
            while data := await (self._packet() if self._packets else self._stream.read()):
                self._command.stdin.write(self._translated(data))
                await self._command.stdin.drain()
        self._command.end_input()
        await self._stream.closed.wait()
        self._command.hang_up()

    async def _packet(self) -> bytes:
        """Return the next bytes for stdin; empty when it was closed."""
        while True:
            kind, size = _HEADER.unpack(await self._stream.read_exactly(_HEADER.size))
            data = await self._stream.read_exactly(size)
            if kind == CLOSE_STDIN:
                return b""
            if kind == STDIN and data:
                return data

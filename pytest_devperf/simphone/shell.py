"""The `shell:`, `shell,v2:` and `exec:` services: commands run for real, by this machine's `/bin/sh`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pytest_devperf.simphone.daemon import Stream, StreamClosedError
from pytest_devperf.simphone.mishap import Mishap
from pytest_devperf.simphone.sandbox import Sandbox
from pytest_devperf.simphone.translate import Back, to_sandbox

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
"""Packet kinds of the shell protocol. Source: AOSP `packages/modules/adb/shell_protocol.h`."""

_HEADER = struct.Struct("<BI")

READ_BYTES = 32 * 1024
"""Most that is taken from a command's output at a time."""

SIGHUP = 1
"""What a command gets when the one who asked for it has gone; `signal.SIGHUP` is missing on Windows."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a shell stands on."""

    sandbox: Sandbox
    mishap: Mishap
    began: Callable[[int], Awaitable[None]]
    """Told the process id of every command as it begins."""
    ended: Callable[[int], Awaitable[None]]


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
            await self.say_code(code)

    async def say_code(self, code: int) -> None:
        """Send the last packet."""
        await self._stream.write(_HEADER.pack(EXIT, 1) + bytes([code]))


async def serve_shell(stream: Stream, ground: Ground, command: str, *, packets: bool) -> None:
    """Run a command and pass its bytes both ways.

    Args:
        stream: The conversation.
        ground: Sandbox, mishap, and who wants to know.
        command: Shell text as sent; empty reads the commands from stdin.
        packets: Whether the shell protocol (version 2) was asked for; without it stderr joins stdout.
    """
    sandbox = ground.sandbox
    words = ["-c", to_sandbox(command, sandbox.root)] if command else [str(sandbox.programs / "sh")]
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE if packets else asyncio.subprocess.STDOUT,
        cwd=sandbox.root,
        env=sandbox.environment(),
        start_new_session=True,
    )
    await ground.began(process.pid)
    listening = asyncio.ensure_future(_listen(stream, process, packets=packets))
    mouth = _Mouth(stream, ground, packets=packets)
    try:
        pumps = [_pump(process.stdout, STDOUT, mouth, sandbox), _pump(process.stderr, STDERR, mouth, sandbox)]
        await asyncio.gather(*pumps)
        await mouth.exit(_android_code(await process.wait()))
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await asyncio.shield(_leave(process, ground))


async def _pump(source: asyncio.StreamReader | None, kind: int, mouth: _Mouth, sandbox: Sandbox) -> None:
    if source is None:
        return
    back = Back(sandbox.root)
    while data := await source.read(READ_BYTES):
        await mouth.say(kind, back.feed(data))
    await mouth.say(kind, back.end())


async def _listen(stream: Stream, process: asyncio.subprocess.Process, *, packets: bool) -> None:
    """Pass stdin on, and hang up on the command when the asker has gone."""
    stdin = process.stdin
    assert stdin is not None
    with contextlib.suppress(StreamClosedError, OSError):
        while data := await (_stdin_packet(stream) if packets else stream.read()):
            stdin.write(data)
            await stdin.drain()
    stdin.close()
    if packets and not stream.closed.is_set():
        await stream.closed.wait()
    if stream.closed.is_set():
        _signal(process)


async def _stdin_packet(stream: Stream) -> bytes:
    """The next bytes for stdin; empty when it was closed."""
    while True:
        kind, size = _HEADER.unpack(await stream.read_exactly(_HEADER.size))
        data = await stream.read_exactly(size)
        if kind == CLOSE_STDIN:
            return b""
        if kind == STDIN and data:
            return data


async def _leave(process: asyncio.subprocess.Process, ground: Ground) -> None:
    """Hang up on a command whose asker has gone; like on a phone, only the shell itself is told."""
    if process.returncode is None:
        _signal(process)
    await ground.ended(process.pid)


def _signal(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, SIGHUP)


def _android_code(code: int) -> int:
    """A command ended by a signal reads 128 and its number, as a shell tells it."""
    return 128 - code if code < 0 else code & 0xFF

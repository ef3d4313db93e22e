"""The `reverse:` and `tcp:` services: ports of the phone forwarded to the computer, and vice versa.

An isolated phone has its own loopback. A phone that is not isolated shares that of this machine: a reverse
from a port on which the computer's own server already listens needs no listener: clients reach the server directly.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Awaitable, Callable

from pytest_devperf.simphone.adb.daemon import AdbConnection, AdbStream, StreamClosedError

READ_BYTES = 32 * 1024

SocketMaker = Callable[[], Awaitable[socket.socket]]
"""Creates a TCP socket in the phone's network."""


class Reverses:
    """The reverses of one phone; they end with the connection that created them."""

    def __init__(self, make_socket: SocketMaker) -> None:
        self._make_socket = make_socket
        self._rules: dict[str, tuple[AdbConnection, str, asyncio.Server | None]] = {}
        self._carrying: set[asyncio.Task[None]] = set()

    async def serve(self, stream: AdbStream, order: str) -> None:
        """Carry out one command: `forward:`, `killforward:`, `killforward-all` or `list-forward`."""
        verb, _, rest = order.partition(":")
        self._forget_lost()
        if verb == "forward":
            reply = await self._forward(stream.link, rest)
        elif verb == "killforward":
            reply = b"OKAY" if self._kill(rest) else _failure(f"listener '{rest}' not found")
        elif verb == "killforward-all":
            for rule in tuple(self._rules):
                self._kill(rule)
            reply = b"OKAY"
        elif verb == "list-forward":
            rules = (f"host {phone} {computer}\n" for phone, (_link, computer, _server) in self._rules.items())
            reply = _text("".join(rules))
        else:
            reply = _failure(f"unknown order {verb}")
        await stream.write(reply)

    async def close(self) -> None:
        """Stop listening everywhere, and close the open connections."""
        for rule in tuple(self._rules):
            self._kill(rule)
        for task in tuple(self._carrying):
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    async def _forward(self, link: AdbConnection, rest: str) -> bytes:
        phone, _, computer = rest.removeprefix("norebind:").partition(";")
        kind, _, number = phone.partition(":")
        if kind != "tcp" or not number.isdigit() or not computer:
            return _failure(f"cannot listen on {phone}")
        if phone in self._rules:
            if rest.startswith("norebind:"):
                return _failure(f"cannot rebind {phone}")
            self._kill(phone)
        take = _Connector(link, computer, self._carrying).take
        listener = await self._make_socket()
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", int(number)))
            server = await asyncio.start_server(take, sock=listener)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE or phone != computer:
                return _failure(f"cannot bind {phone}: {error.strerror}")
            self._rules[phone] = (link, computer, None)
            return b"OKAY"
        port = int(server.sockets[0].getsockname()[1])
        self._rules[f"tcp:{port}"] = (link, computer, server)
        return b"OKAY" + (_text(str(port)) if number == "0" else b"")

    def _kill(self, phone: str) -> bool:
        rule = self._rules.pop(phone, None)
        if rule is not None and rule[2] is not None:
            rule[2].close()
        return rule is not None

    def _forget_lost(self) -> None:
        for phone, (link, _computer, _server) in tuple(self._rules.items()):
            if link.lost:
                self._kill(phone)


class _Connector:
    """Forwards every connection to a port of the phone to the computer."""

    def __init__(self, link: AdbConnection, computer: str, carrying: set[asyncio.Task[None]]) -> None:
        self._link = link
        self._computer = computer
        self._carrying = carrying

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection in a task, which ends when the phone is switched off."""
        task = asyncio.ensure_future(self._carry(reader, writer))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            stream = await self._link.open(self._computer)
        except StreamClosedError:
            writer.close()
            return
        except asyncio.CancelledError:
            writer.close()
            raise
        await carry(stream, reader, writer)


async def serve_tcp(stream: AdbStream, port: int, make_socket: SocketMaker) -> None:
    """Connect to a port of the phone, for `adb forward`."""
    connection = await make_socket()
    try:
        connection.settimeout(0)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
    except BaseException:
        connection.close()
        raise
    await carry(stream, *await asyncio.open_connection(sock=connection))


async def carry(
    stream: AdbStream,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    passed: Callable[[int], None] = lambda _bytes: None,
) -> None:
    """Copy bytes in both directions until either side ends.

    Args:
        stream: The computer's side.
        reader: Data from the phone's side.
        writer: Data to the phone's side.
        passed: Called with the number of bytes sent to the phone.
    """

    async def upwards() -> None:
        with contextlib.suppress(StreamClosedError, OSError):
            while data := await reader.read(READ_BYTES):
                await stream.write(data)

    async def downwards() -> None:
        with contextlib.suppress(OSError):
            while data := await stream.read():
                passed(len(data))
                writer.write(data)
                await writer.drain()

    ways = {asyncio.ensure_future(upwards()), asyncio.ensure_future(downwards())}
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        await stream.close()
        writer.close()


def _text(text: str) -> bytes:
    return f"{len(text):04x}{text}".encode()


def _failure(words: str) -> bytes:
    return b"FAIL" + _text(words)

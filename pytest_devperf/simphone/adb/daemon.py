"""The phone's side of the adb protocol over TCP: connections, streams, and the lookup of services."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable

from pytest_devperf.simphone.adb.wire import (
    AUTH,
    AUTH_SIGNATURE,
    AUTH_TOKEN,
    CLSE,
    CNXN,
    MAX_DATA,
    OKAY,
    OPEN,
    VERSION,
    WRTE,
    Packet,
    read_packet,
)
from pytest_devperf.simphone.state.mishap import Mishap

Service = Callable[["AdbStream"], Awaitable[None]]
Finder = Callable[[str], "Service | None"]
"""Service name (`shell:ls`) -> the service; None refuses it."""

CHUNK_BYTES = 64 * 1024
"""Largest payload of one WRTE from the phone: small enough to show a cut, large enough to be fast."""


class StreamClosedError(ConnectionError):
    """The other side closed the stream, or the connection is lost."""


class AdbStream:
    """One stream within a connection; at most one WRTE is in flight in each direction."""

    def __init__(self, link: AdbConnection, local: int, remote: int) -> None:
        self.link = link
        self.local = local
        self.remote = remote
        self._incoming: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._acknowledged = asyncio.Event()
        self._rest = b""
        self.closed = asyncio.Event()

    async def read(self) -> bytes:
        """Return the next data; empty at the end."""
        if self._rest:
            data, self._rest = self._rest, b""
            return data
        if self.closed.is_set() and self._incoming.empty():
            return b""
        data = await self._incoming.get() or b""
        if data and not self.closed.is_set():
            await self.link.send(Packet(OKAY, self.local, self.remote))
        return data

    async def read_exactly(self, size: int) -> bytes:
        """Return exactly this many bytes.

        Raises:
            StreamClosedError: The stream ended earlier.
        """
        parts, missing = [], size
        while missing:
            data = await self.read()
            if not data:
                raise StreamClosedError("the stream ended in the middle of a message")
            parts.append(data[:missing])
            self._rest = data[missing:]
            missing -= len(parts[-1])
        return b"".join(parts)

    async def write(self, data: bytes) -> None:
        """Send data in pieces, each after the previous one was acknowledged.

        Raises:
            StreamClosedError: The other side has closed the stream.
        """
        size = min(CHUNK_BYTES, self.link.peer_max_data)
        for start in range(0, len(data), size):
            if self.closed.is_set():
                raise StreamClosedError("the stream is closed")
            self._acknowledged.clear()
            await self.link.send(Packet(WRTE, self.local, self.remote, data[start : start + size]))
            await self._acknowledged.wait()

    async def close(self) -> None:
        """Close the stream once."""
        if not self.closed.is_set():
            self.hang_up()
            await self.link.send(Packet(CLSE, self.local, self.remote))

    def take(self, packet: Packet) -> None:
        """Handle a packet that the other side sent for this stream."""
        if packet.command == WRTE:
            self._incoming.put_nowait(packet.data)
        elif packet.command == OKAY:
            self.remote = packet.arg0
            self._acknowledged.set()
        else:
            self.hang_up()

    async def opened(self) -> None:
        """Wait until the other side accepted a stream that the phone opened."""
        await self._acknowledged.wait()
        if self.closed.is_set():
            raise StreamClosedError("the computer refused the stream")

    def hang_up(self) -> None:
        """End the stream without notice: reads return the end, writes fail."""
        self.closed.set()
        self._acknowledged.set()
        self._incoming.put_nowait(None)


class AdbConnection:
    """One connection of an adb server."""

    def __init__(self, daemon: Daemon, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.daemon = daemon
        self.peer_max_data = 4096  # the minimum of all versions, until CNXN gives another value
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._streams: dict[int, AdbStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until the connection ends."""
        try:
            while True:
                await self._handle(await read_packet(self._reader))
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self.drop()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def send(self, packet: Packet) -> None:
        """Send one packet; on a lost connection it is discarded, since the streams are notified already."""
        if not self._writer.is_closing():
            self._writer.write(packet.encode())
            try:
                await self._writer.drain()
            except OSError:
                self.drop()

    @property
    def lost(self) -> bool:
        """Whether it has ended."""
        return self._writer.is_closing()

    def drop(self) -> None:
        """Cut the connection without notice."""
        if not self._writer.is_closing():
            self._writer.transport.abort()
        for stream in self._streams.values():
            stream.hang_up()

    async def open(self, destination: str) -> AdbStream:
        """Open a stream to the computer, as `adb reverse` needs it.

        Raises:
            StreamClosedError: The computer refused.
        """
        stream = self._new_stream(remote=0)
        await self.send(Packet(OPEN, stream.local, 0, destination.encode() + b"\0"))
        await stream.opened()
        return stream

    def spawn(self, work: Awaitable[None]) -> None:
        """Run a task for as long as the connection lasts."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _new_stream(self, remote: int) -> AdbStream:
        stream = AdbStream(self, next(self._numbers), remote)
        self._streams[stream.local] = stream
        return stream

    async def _handle(self, packet: Packet) -> None:
        if packet.command == CNXN:
            self.peer_max_data = min(packet.arg1, MAX_DATA)
            await self._welcome()
        elif packet.command == AUTH and packet.arg0 == AUTH_SIGNATURE:
            # Never the right key; after the public key the phone stays silent until somebody touches the screen.
            await self.send(Packet(AUTH, AUTH_TOKEN, 0, os.urandom(20)))
        elif packet.command == OPEN:
            await self._serve(packet)
        elif packet.command in {OKAY, WRTE, CLSE}:
            stream = self._streams.get(packet.arg1)
            if stream is not None:
                stream.take(packet)
            elif packet.command == WRTE:
                await self.send(Packet(CLSE, 0, packet.arg0))

    async def _welcome(self) -> None:
        if self.daemon.mishap.unauthorized:
            await self.send(Packet(AUTH, AUTH_TOKEN, 0, os.urandom(20)))
        else:
            await self.send(Packet(CNXN, VERSION, MAX_DATA, self.daemon.banner.encode()))

    async def _serve(self, packet: Packet) -> None:
        name = packet.data.rstrip(b"\0").decode("utf-8", "surrogateescape")
        service = self.daemon.find(name)
        if service is None:
            await self.send(Packet(CLSE, 0, packet.arg0))
            return
        stream = self._new_stream(remote=packet.arg0)
        await self.send(Packet(OKAY, stream.local, stream.remote))
        self.spawn(self._run_service(service, stream))

    async def _run_service(self, service: Service, stream: AdbStream) -> None:
        try:
            if self.daemon.mishap.latency_s:
                await asyncio.sleep(self.daemon.mishap.latency_s)
            await service(stream)
        except (StreamClosedError, OSError):
            pass  # the other side has disconnected
        finally:
            await stream.close()
            self._streams.pop(stream.local, None)


class Daemon:
    """A listening phone.

    Args:
        banner: How it identifies itself: kind, product and features.
        find: Returns the service for an OPEN.
        mishap: What goes wrong.
    """

    def __init__(self, banner: str, find: Finder, mishap: Mishap) -> None:
        self.banner = banner
        self.find = find
        self.mishap = mishap
        self.port = 0
        self._server: asyncio.Server | None = None
        self._links: set[AdbConnection] = set()
        self._running: set[asyncio.Task[None]] = set()

    async def listen(self, port: int = 0) -> None:
        """Listen for adb servers on this machine's loopback; with port 0 the system chooses the port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def go_away(self, seconds: float | None = None) -> None:
        """Drop every connection and stop listening, for some seconds or permanently."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for link in tuple(self._links):
            link.drop()
        if seconds is not None:
            await asyncio.sleep(seconds)
            await self.listen(self.port)

    async def close(self) -> None:
        """Disconnect, and wait until everything has ended."""
        await self.go_away()
        await asyncio.gather(*tuple(self._running), return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = AdbConnection(self, reader, writer)
        task = asyncio.current_task()
        assert task is not None
        self._links.add(link)
        self._running.add(task)
        try:
            await link.run()
        finally:
            self._links.discard(link)
            self._running.discard(task)

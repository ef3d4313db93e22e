"""What a phone sends over the shell and sync protocols: cut off, absurd, or without an end."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_devperf.targets.android.adb import stream, sync
from pytest_devperf.targets.android.adb.stream import Stream, Timeout


@dataclass
class FakeSocket:
    """A socket that gives some bytes in pieces, and then ends."""

    data: bytes
    piece_bytes: int = 65536
    asked_bytes: list[int] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    """How long each next piece takes to arrive; later ones take no time."""
    limit_s: float = math.inf
    clock_s: float = 0.0

    def recv(self, count: int) -> bytes:
        self.asked_bytes.append(count)
        wait_s = self.waits_s.pop(0) if self.waits_s else 0.0
        self.clock_s += min(wait_s, self.limit_s)
        if wait_s > self.limit_s:
            raise TimeoutError
        piece, self.data = self.data[: min(count, self.piece_bytes)], self.data[min(count, self.piece_bytes) :]
        return piece

    def settimeout(self, seconds: float) -> None:
        self.limit_s = seconds

    def sendall(self, data: bytes) -> None:
        pass


@dataclass
class FakeConnection:
    conn: FakeSocket


def opened(data: bytes, *, packets: bool, piece_bytes: int = 65536) -> Stream:
    return Stream(FakeConnection(FakeSocket(data, piece_bytes)), packets=packets)


def packet(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + len(data).to_bytes(4, "little") + data


def fetch(data: bytes) -> bytes:
    socket: Any = FakeSocket(data)
    return sync.fetch_file(socket, "/data/local/tmp/x")


@pytest.mark.parametrize("piece_bytes", [1, 3, 65536])
def test_lines_and_the_rest_come_out_whole_however_they_come_in(piece_bytes: int) -> None:
    data = packet(1, b"one\r\ntw") + packet(2, b"warning") + packet(1, b"o\nrest") + packet(3, b"\7")
    phone = opened(data, packets=True, piece_bytes=piece_bytes)

    assert [phone.read_line(math.inf), phone.read_line(math.inf), phone.read_all(math.inf)] == ["one", "two", "rest"]
    assert (phone.error_output, phone.returncode) == ("warning", 7)


def test_a_script_may_take_long_as_long_as_it_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    socket = FakeSocket(b"abcdef", piece_bytes=1, waits_s=[29.0] * 6)
    monkeypatch.setattr(stream.time, "monotonic", lambda: socket.clock_s)

    assert Stream(FakeConnection(socket), packets=False).read_unless_silent(30.0) == "abcdef"


def test_a_script_that_is_silent_for_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    socket = FakeSocket(b"abcdef", piece_bytes=1, waits_s=[1.0, 31.0])
    monkeypatch.setattr(stream.time, "monotonic", lambda: socket.clock_s)

    with pytest.raises(Timeout):
        Stream(FakeConnection(socket), packets=False).read_unless_silent(30.0)


def test_a_packet_that_no_phone_sends_is_not_waited_for() -> None:
    phone = opened(b"\x01\xff\xff\xff\xff" + bytes(100), packets=True)

    with pytest.raises(ConnectionError, match="a packet of 4294967295 bytes"):
        phone.read_line(math.inf)


@pytest.mark.parametrize("packets", [True, False])
def test_output_without_an_end_is_not_kept_without_an_end(
    packets: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "MOST_BYTES", 1 << 20)
    data = packet(1, b"x" * 65536) * 40 if packets else b"x" * (40 << 16)

    with pytest.raises(ConnectionError, match="more than 1 MiB"):
        opened(data, packets=packets).read_all(math.inf)


def test_a_block_that_no_phone_sends_is_not_waited_for() -> None:
    socket: Any = FakeSocket(b"DATA" + struct.pack("<I", 0xFFFFFFFF) + bytes(100))

    with pytest.raises(ValueError, match="a block of 4294967295 bytes"):
        sync.fetch_file(socket, "/data/local/tmp/x")
    assert max(socket.asked_bytes) < 100


def test_a_file_without_an_end_is_not_fetched_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "MOST_FILE_BYTES", 1 << 10)
    block = b"DATA" + struct.pack("<I", 600) + bytes(600)

    assert fetch(block + b"DONE" + bytes(4)) == bytes(600)
    with pytest.raises(ValueError, match="/data/local/tmp/x has more than"):
        fetch(block * 2 + b"DONE" + bytes(4))

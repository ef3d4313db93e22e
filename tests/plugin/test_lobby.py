"""Only the interpreters that were started for a pair are let in, whoever else connects to the port."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from pytest_devperf.session.launch import lobby as module
from pytest_devperf.session.launch.lobby import MOST_CALLERS, Lobby

SECRET = "s" * 32

Call = Callable[[bytes], socket.socket]

PATIENCE_S = 30.0
"""How long an arrival is waited for; it is there at once."""


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield listening


@pytest.fixture
def call(server: socket.socket) -> Iterator[Call]:
    """Connects, and sends something."""
    with ExitStack() as stack:

        def call(text: bytes) -> socket.socket:
            caller = stack.enter_context(closing(socket.create_connection(server.getsockname())))
            caller.settimeout(PATIENCE_S)
            caller.sendall(text)
            return caller

        yield call


def hello(side: str, secret: str = SECRET) -> bytes:
    return json.dumps({"secret": secret, "side": side}).encode() + b"\n"


def test_a_program_with_the_secret_is_accepted_with_its_further_data(server: socket.socket, call: Call) -> None:
    caller = call(hello("old") + b'{"at": "case"')

    with Lobby(server, SECRET) as lobby:
        arrival = lobby.next(PATIENCE_S)

    assert arrival is not None
    assert (arrival.side, arrival.heard) == ("old", b'{"at": "case"')
    with closing(arrival.connection):
        arrival.connection.sendall(b"go\n")
        assert caller.recv(3) == b"go\n"


@pytest.mark.parametrize(
    "text",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"null\n",
        b"[" * 1000 + b"\n",
        b"x" * 2000,
        b'{"side": "old"}\n',
        b'{"secret": null, "side": "old"}\n',
        hello("old", "another"),
        b'{"secret": "' + SECRET.encode() + b'", "side": ["old"]}\n',
    ],
)
def test_garbage_is_hung_up_on_and_who_is_expected_is_let_in(server: socket.socket, call: Call, text: bytes) -> None:
    stranger = call(text)
    call(hello("new"))

    with Lobby(server, SECRET) as lobby:
        arrival = lobby.next(PATIENCE_S)

        assert arrival is not None
        assert arrival.side == "new"
        assert lobby.next(0.05) is None
        assert _is_closed(stranger)
    arrival.connection.close()


def test_silent_and_slow_callers_keep_nobody_waiting(server: socket.socket, call: Call) -> None:
    silent, slow = call(b""), call(b'{"secret"')
    with Lobby(server, SECRET) as lobby:
        assert lobby.next(0.05) is None
        slow.sendall(b": ")
        call(hello("old"))

        arrival = lobby.next(PATIENCE_S)

    assert arrival is not None
    assert arrival.side == "old"
    arrival.connection.close()
    assert _is_closed(silent)
    assert _is_closed(slow)


def test_a_silent_connection_is_closed(server: socket.socket, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HELLO_S", 0.0)
    silent = call(b"")
    with Lobby(server, SECRET) as lobby:
        while not _is_closed(silent, wait=False):
            assert lobby.next(0.01) is None


def test_no_more_callers_are_listened_to_than_a_few(server: socket.socket, call: Call) -> None:
    with Lobby(server, SECRET) as lobby:
        first = call(b"")
        for _ in range(3 * MOST_CALLERS):
            call(b"")
            lobby.next(0.01)
        call(hello("old"))

        arrival = lobby.next(PATIENCE_S)

        assert arrival is not None
        assert _is_closed(first)
    arrival.connection.close()


def test_a_caller_that_resets_its_connection_does_no_harm(server: socket.socket, call: Call) -> None:
    rude = call(b'{"sec')
    rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    rude.close()
    call(hello("old"))

    with Lobby(server, SECRET) as lobby:
        arrival = lobby.next(PATIENCE_S)

    assert arrival is not None
    arrival.connection.close()


def _is_closed(caller: socket.socket, *, wait: bool = True) -> bool:
    caller.settimeout(PATIENCE_S if wait else 0.01)
    try:
        return caller.recv(100) == b""
    except TimeoutError:
        return False
    except OSError:  # what was not read by the other end resets the connection
        return True

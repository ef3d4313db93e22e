"""Ports forwarded between the phone and this machine."""

from __future__ import annotations

import contextlib
import gc
import socket
import threading
from collections.abc import Iterator

import adbutils
import pytest

from pytest_devperf.simphone import simulated_phone


@pytest.fixture
def echo_port() -> Iterator[int]:
    """A server on this machine that answers one line, backwards."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, connection.makefile("rwb") as lines:
                    lines.write(lines.readline().strip()[::-1] + b"\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def ask(port: int) -> bytes:
    with (
        contextlib.suppress(ConnectionError),
        socket.create_connection(("127.0.0.1", port)) as connection,
        connection.makefile("rb") as answer,
    ):
        connection.sendall(b"abc\n")
        return answer.readline()
    return b""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask_on_phone(device: adbutils.AdbDevice, port: int) -> bytes:
    """Send a request to a port of the phone, through a forward."""
    return ask(device.forward_port(port))


def test_a_reverse_and_a_forward_carry_bytes_through_adb(device, echo_port: int):
    port = free_port()

    device.reverse(f"tcp:{port}", f"tcp:{echo_port}")

    assert ask_on_phone(device, port) == b"cba\n"
    assert (f"tcp:{port}", f"tcp:{echo_port}") in {(rule.remote, rule.local) for rule in device.reverse_list()}


def test_a_reverse_that_was_taken_away_leads_nowhere(device, echo_port: int):
    port = free_port()
    device.reverse(f"tcp:{port}", f"tcp:{echo_port}")

    with device.open_transport() as connection:
        connection.send_command(f"reverse:killforward:tcp:{port}")
        connection.check_okay()

    assert f"tcp:{port}" not in {rule.remote for rule in device.reverse_list()}
    assert ask_on_phone(device, port) == b""


def test_a_reverse_may_have_the_number_of_the_computers_own_port(device, echo_port: int):
    device.reverse(f"tcp:{echo_port}", f"tcp:{echo_port}")

    assert ask_on_phone(device, echo_port) == b"cba\n"
    assert f"tcp:{echo_port}" in {rule.remote for rule in device.reverse_list()}


def test_reverses_are_lost_with_the_link(adb_server, switch_on, open_device, echo_port: int):
    phone = switch_on()
    open_device(phone).reverse(f"tcp:{free_port()}", f"tcp:{echo_port}")

    adb_server.disconnect(phone.address)
    adb_server.connect(phone.address)

    assert list(open_device(phone).reverse_list()) == []


def test_a_phone_that_is_switched_off_leaves_no_connection_half_open(adb_server, open_device, caplog):
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as silent, simulated_phone(server=adb_server) as phone:
        device = open_device(phone)
        device.reverse(f"tcp:{port}", f"tcp:{silent.getsockname()[1]}")
        still_open = socket.create_connection(("127.0.0.1", device.forward_port(port)))
        carried, _ = silent.accept()

    with still_open, carried:
        assert still_open.recv(1) == b""
    gc.collect()
    assert "Task was destroyed" not in caplog.text

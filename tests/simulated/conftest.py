"""One genuine adb server for all, and phones of arithmetic behind it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pytest_devperf.errors import UsageError
from pytest_devperf.simphone import AdbServer, SimPhone, simulated_phone
from pytest_devperf.simphone.adb.server import adb_program


@pytest.fixture(scope="session")
def adb_server() -> Iterator[AdbServer]:
    """One server for a whole run: starting it takes three seconds."""
    if not hasattr(socket, "AF_UNIX"):
        pytest.skip("the simulated phone needs a POSIX system")
    try:
        adb_program()
    except UsageError as error:
        pytest.skip(str(error))
    with AdbServer() as server:
        yield server


@pytest.fixture
def switch_on(adb_server: AdbServer) -> Iterator[Callable[..., SimPhone]]:
    """Switch a phone on for one test."""
    with ExitStack() as stack:
        yield lambda personality="pixel-tensor", **how: stack.enter_context(
            simulated_phone(personality, server=adb_server, **how)
        )


@pytest.fixture(scope="module")
def phone(adb_server: AdbServer) -> Iterator[SimPhone]:
    """A phone that tests of one file share which change nothing on it; the next file may want none attached."""
    with simulated_phone(server=adb_server) as phone:
        yield phone

"""The private, genuine adb server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest
from waiting import running, until

from pytest_devperf.errors import TargetError
from pytest_devperf.simphone import AdbServer

HOLD = """
from pytest_devperf.simphone import AdbServer
import sys, time
with AdbServer() as server:
    print(server.port, flush=True)
    time.sleep(600)
"""


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_it_knows_no_phone_but_ours(adb_server: AdbServer):
    with AdbServer() as alone:
        assert alone.port != adb_server.port
        assert alone.ask("host:devices") == ""


def test_it_ends_with_its_block():
    with AdbServer() as server:
        assert answers(server.port)

    assert not answers(server.port)


def test_a_refused_request_raises_an_error(adb_server: AdbServer):
    with pytest.raises(TargetError, match="refused host:nonsense"):
        adb_server.ask("host:nonsense")


def test_it_does_not_outlive_a_process_that_was_killed():
    with running([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True) as process:
        port = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)

    until(lambda: not answers(port))

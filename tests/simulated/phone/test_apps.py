"""Apps on the simulated phone, started as on Android."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from waiting import until

from pytest_devperf.simphone import SimPhone

APP = "com.example.bench"
PROGRAM = "import os; print('suite', os.environ.get('BENCH_SUITE'), flush=True)"
WAITING = "import time; print('up', flush=True); time.sleep(600)"


@pytest.fixture
def with_app(switch_on) -> Callable[[str], SimPhone]:
    def install(program: str) -> SimPhone:
        phone = switch_on()
        phone.install_app(APP, [sys.executable, "-c", program])
        return phone

    return install


def wait_for(device, command: str, word: str) -> str:
    return until(lambda: text if word in (text := device.shell(command)) else "")


def test_an_app_starts_with_its_extras_and_prints_to_the_log(with_app, open_device):
    device = open_device(with_app(PROGRAM))

    started = device.shell2(f"am start -W -n {APP}/.MainActivity --es BENCH_SUITE quick", v2=True)

    assert (started.returncode, started.output.split()[0]) == (0, "Starting:")
    assert f"I {APP}: suite quick" in wait_for(device, "logcat -d", "suite")


def test_an_app_runs_until_it_is_stopped(with_app, open_device):
    device = open_device(with_app(WAITING))

    device.shell(f"monkey -p {APP} 1")
    wait_for(device, "logcat -d", "up")
    pid = device.shell(f"pidof {APP}")
    device.shell(f"am force-stop {APP}")

    assert pid.isdigit()
    assert device.shell2(f"pidof {APP}", v2=True).returncode == 1


def test_an_app_that_is_not_installed_is_an_error(with_app, open_device):
    device = open_device(with_app(PROGRAM))

    assert device.shell2("am start -n com.other/.Main", v2=True).returncode == 1
    assert device.shell2("pm path com.other", v2=True).returncode == 1
    assert device.shell(f"pm path {APP}") == f"package:/data/app/{APP}/base.apk"
    assert device.shell(f"cmd package resolve-activity --brief {APP}").split()[-1] == f"{APP}/.MainActivity"


def test_the_log_is_written_and_cleared(device):
    device.shell("log -t bench hello there")
    before = device.shell("logcat -d")
    device.shell("logcat -c")

    assert "I bench: hello there" in before
    assert "hello" not in device.shell("logcat -d")


def test_the_network_of_an_app_reaches_this_machine_through_a_reverse(with_app, open_device):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        program = "import os, socket; socket.create_connection(('127.0.0.1', int(os.environ['PORT']))).sendall(b'done')"
        device = open_device(with_app(program))
        device.reverse(f"tcp:{port}", f"tcp:{server.getsockname()[1]}")

        device.shell(f"am start -n {APP}/.MainActivity --ei PORT {port}")
        connection, _ = server.accept()
        with connection:
            assert connection.recv(16) == b"done"


def test_an_app_sees_its_files_and_no_others_of_this_machine(switch_on, open_device, tmp_path):
    (tmp_path / "app.py").write_text(READS_ITS_FILES)
    (tmp_path / "data.txt").write_text("data")
    (tmp_path / "left.txt").write_text("left")
    phone = switch_on()

    phone.install_app(APP, [sys.executable, tmp_path / "app.py"], files=[tmp_path / "data.txt"])
    open_device(phone).shell(f"am start -n {APP}/.MainActivity")

    until(lambda: any("found" in line for line in phone.log))
    assert f"I {APP}: found ['app.py', 'data.txt'] data" in phone.log
    assert open_device(phone).shell(f"run-as {APP} ls; run-as com.other ls").splitlines() == [
        f"run-as: package not debuggable: {APP}",
        "run-as: unknown package: com.other",
    ]


READS_ITS_FILES = """
import os
folder = os.path.dirname(os.path.abspath(__file__))
print("found", sorted(os.listdir(folder)), open(os.path.join(folder, "data.txt")).read(), flush=True)
"""

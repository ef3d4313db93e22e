"""`devperf sim`: a phone in the foreground."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import adbutils
import pytest
from waiting import running, until

from pytest_devperf.cli import main
from pytest_devperf.cli.devices import sim

SIM = [sys.executable, "-c", "import sys; from pytest_devperf.cli import main; sys.exit(main())", "sim"]


@pytest.mark.usefixtures("usual_signals")
def test_it_prints_how_to_connect_and_ends_with_ctrl_c(adb_server):
    with running([*SIM, "--personality=motorola"], stdout=subprocess.PIPE, text=True) as process:
        address = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline()).group()

        answer = adb_server.connect(address)
        client = adbutils.AdbClient(host="127.0.0.1", port=adb_server.port)
        model = client.device(serial=address).shell("getprop ro.product.model")
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        adb_server.disconnect(address)

    assert "connected to" in answer
    assert model == "moto g power"
    assert f"connect {address}" in rest
    assert process.returncode == 0


@pytest.mark.usefixtures("usual_signals")
def test_under_nohup_it_ends_with_sigterm():
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    with running([*SIM], stdout=subprocess.PIPE, text=True) as process:
        until(lambda: "Ctrl-C" in process.stdout.readline())
        process.send_signal(signal.SIGTERM)

    assert process.returncode == 0


@pytest.mark.usefixtures("usual_signals")
def test_a_hangup_that_nohup_ignores_does_not_end_it():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with sim._ended_by_signals():
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("SIGTERM did not end it")


@pytest.mark.parametrize("option", ["--personality=nokia", "--mishap=meteorite", "--speed=0"])
def test_a_name_or_speed_that_cannot_be_is_a_usage_error(capsys, option):
    assert main(["sim", option]) == 4
    assert capsys.readouterr().err.count("\n") == 1


def test_the_list_names_every_personality_and_mishap(capsys):
    from pytest_devperf.simphone import MISHAPS, PERSONALITIES

    assert main(["sim", "--list"]) == 0

    text = capsys.readouterr().out
    assert all(name in text for name in (*PERSONALITIES, *MISHAPS))


def test_the_how_to_names_every_mishap():
    from pytest_devperf.simphone import MISHAPS

    text = (Path(__file__).parents[3] / "docs/howto-phones.md").read_text(encoding="utf-8")

    assert [name for name in MISHAPS if f"`{name}`" not in text] == []

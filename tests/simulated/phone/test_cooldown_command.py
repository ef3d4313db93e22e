"""`devperf cooldown` on a simulated phone."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from pytest_devperf.cli import main
from pytest_devperf.simphone import AdbServer
from pytest_devperf.targets.clock import SystemClock


@pytest.fixture(autouse=True)
def one_server(adb_server: AdbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_devperf.simphone.phone.AdbServer", lambda: nullcontext(adb_server))


@pytest.fixture(autouse=True)
def no_real_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(seconds: float) -> None:
        pytest.fail(f"{seconds} s were waited for in real time")

    monkeypatch.setattr(SystemClock, "sleep", staticmethod(sleep))


def test_waiting_for_a_simulated_phone_takes_its_time_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["cooldown", "--target=sim", "--cooldown=600"])

    assert code == 0
    assert "Google Pixel 8" in capsys.readouterr().out


def test_a_wait_that_reaches_its_maximum_exits_1() -> None:
    assert main(["cooldown", "--target=sim", "--cooldown=temp=1", "--max=60"]) == 1

"""`devperf devices` lists attached and known devices, and changes none of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forwarding import forwarded

from pytest_devperf.cli import main
from pytest_devperf.errors import UsageError
from pytest_devperf.record.record import DeviceRecord, Run
from pytest_devperf.simphone import AdbServer, SimPhone
from pytest_devperf.store.folder import FolderStore
from pytest_devperf.targets.android.adb.client import make_client
from pytest_devperf.targets.android.options import PhoneOptions
from pytest_devperf.targets.android.target import AndroidTarget


@pytest.fixture(autouse=True)
def here(adb_server: AdbServer, own_setups: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(adb_server.port))
    monkeypatch.chdir(tmp_path)


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    assert main(["devices", "--format=json"]) == 0
    return {each["target"] or each["name"]: each for each in json.loads(capsys.readouterr().out)}


def a_run(device: DeviceRecord, day: int, label: str = "main") -> Run:
    taken_at = f"2026-11-{day:02}T08:00:00Z"
    return Run(id=f"r{day}", label=label, taken_at=taken_at, devperf_version="0.1.0", device=device)


def test_devices_are_listed_with_their_state_and_their_last_run(
    switch_on: Callable[..., SimPhone], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, locked = switch_on(unit=1), switch_on(unit=2, mishap="unauthorized")
    store = FolderStore(tmp_path / ".devperf")
    target = AndroidTarget(serial=good.serial)
    for day, label in ((1, "old"), (3, "new"), (2, "old")):
        store.save(a_run(DeviceRecord.of(target.device), day, label))
    store.save(a_run(DeviceRecord(fingerprint="0123456789ab", kind="android", model="Elsewhere"), 1))

    found = listed(capsys)

    assert (found["host"]["state"], found["host"]["last_run"]) == ("ready", None)
    phone = found[f"android:{good.serial}"]
    assert (phone["state"], phone["pinned"], phone["leftover"]) == ("ready", False, None)
    assert (phone["last_run"], phone["last_label"]) == ("2026-11-03T08:00:00Z", "new")
    assert "unlock it and accept the dialog" in found[f"android:{locked.serial}"]["state"]
    assert (found["Elsewhere"]["state"], found["Elsewhere"]["fingerprint"]) == ("not attached", "0123456789ab")


def test_what_a_session_left_on_a_phone_is_reported_and_stays(
    switch_on: Callable[..., SimPhone], capsys: pytest.CaptureFixture[str]
) -> None:
    phone = switch_on()
    session = AndroidTarget(serial=phone.serial, options=PhoneOptions(pin_clocks="auto"))
    session.open()

    found = listed(capsys)[f"android:{phone.serial}"]

    assert found["leftover"] == "this session keeps its clocks pinned and its screen on"
    assert found["pinned"] is True
    assert main(["devices"]) == 0
    out = capsys.readouterr().out
    assert f"devperf unpin --target android:{phone.serial} undoes it once no session measures there" in out
    session.close()
    assert listed(capsys)[f"android:{phone.serial}"]["leftover"] is None


def test_phones_behind_a_forwarded_port_are_found(
    switch_on: Callable[..., SimPhone], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    phone = switch_on()
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", "1")
    with forwarded(phone.server_port) as port:
        monkeypatch.setenv("ADB_SERVER_SOCKET", f"tcp:localhost:{port}")
        found = listed(capsys)[f"android:{phone.serial}"]
    assert (found["state"], found["leftover"]) == ("ready", None)
    assert "no adb server answers" in listed(capsys)["phones"]["state"]


@pytest.mark.parametrize("address", ["tcp:farm.example:5037", "tcp:port", "localabstract:adb", "tcp:0"])
def test_a_server_that_cannot_be_reached_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("ADB_SERVER_SOCKET", address)
    with pytest.raises(UsageError, match=r"is not a port of this machine: forward one \(ssh -N -L 5038"):
        make_client(None)

"""Simulated phones as adbutils sees them, isolated and as a folder of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import adbutils
import pytest

from pytest_devperf.simphone import AdbServer, SimPhone, simulated_phone


@pytest.fixture(scope="module", params=["isolated", "translated"])
def phone(adb_server: AdbServer, request: pytest.FixtureRequest) -> Iterator[SimPhone]:
    """A phone that tests of one file share which change nothing on it."""
    with simulated_phone(server=adb_server, isolate=request.param == "isolated") as phone:
        if request.param == "isolated" and phone.barrier is not None:
            pytest.skip(f"this machine cannot isolate a phone: {phone.barrier}")
        yield phone


@pytest.fixture
def device(phone: SimPhone) -> adbutils.AdbDevice:
    return _open(phone)


@pytest.fixture(scope="session")
def open_device() -> Callable[[SimPhone], adbutils.AdbDevice]:
    """A phone -> the device that adbutils makes of it."""
    return _open


def _open(phone: SimPhone) -> adbutils.AdbDevice:
    return adbutils.AdbClient(host="127.0.0.1", port=phone.server_port).device(serial=phone.serial)

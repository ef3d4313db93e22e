"""Simulated phones as adbutils sees them."""

from __future__ import annotations

from collections.abc import Callable

import adbutils
import pytest

from pytest_devperf.simphone import SimPhone


@pytest.fixture
def device(phone: SimPhone) -> adbutils.AdbDevice:
    return _open(phone)


@pytest.fixture(scope="session")
def open_device() -> Callable[[SimPhone], adbutils.AdbDevice]:
    """A phone -> the device that adbutils makes of it."""
    return _open


def _open(phone: SimPhone) -> adbutils.AdbDevice:
    return adbutils.AdbClient(host="127.0.0.1", port=phone.server_port).device(serial=phone.serial)

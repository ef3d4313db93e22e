"""The lines above a session about a device that is not fit to measure on."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_devperf.sensor.context import Context
from pytest_devperf.session.devices.concerns import describe_concerns
from pytest_devperf.targets.device import Device


@dataclass
class Plain:
    """A device that runs nothing."""

    device: Device

    def look(self) -> Context:
        return Context(at_ns=0)

    def start(self, workload: Any, process: int) -> AbstractContextManager[Any]:
        raise NotImplementedError


PHONE = Plain(Device(kind="android", manufacturer="Example", model="One"))
COOL = Context(at_ns=0, temp_c=28.0, throttled=False, battery_pct=80.0, charging=False)


def test_the_two_worst_findings_are_named() -> None:
    hot = Context(at_ns=0, temp_c=45.0, throttled=True, faked=True, battery_pct=5.0)

    words = describe_concerns(PHONE, hot)

    assert words is not None
    assert words.startswith("Example One is not at its best for measuring (sensors: somebody overrides")
    assert "heat: it is slowed down because it is hot" in words
    assert "battery" not in words.partition("heat")[2]


@pytest.mark.parametrize("seen", [COOL, None])
def test_nothing_is_reported_of_a_device_that_is_fit_or_was_not_read(seen: Context | None) -> None:
    assert describe_concerns(PHONE, seen) is None


def test_this_machine_is_examined_by_its_own_settings() -> None:
    words = describe_concerns(Plain(Device(kind="host")), Context(at_ns=0, power_state="battery"))

    assert words is not None
    assert words.startswith("this machine is not at its best for measuring (power: on battery")


def test_nothing_is_reported_of_a_device_of_another_kind() -> None:
    assert describe_concerns(Plain(Device(kind="board")), Context(at_ns=0, throttled=True)) is None

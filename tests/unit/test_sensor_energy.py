"""Energy is reported only if the battery's counter changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.energy import energy_mj

BEFORE = Context(at_ns=0, power_state="battery", charge_uah=2_000_000, voltage_mv=4_000)


def test_energy_is_charge_times_voltage() -> None:
    after = replace(BEFORE, charge_uah=1_999_000, voltage_mv=3_900)

    # 1000 µAh are 3.6 C; at 3.95 V that is 14.22 J
    assert energy_mj(BEFORE, after) == pytest.approx(14_220)


@pytest.mark.parametrize(
    "change",
    [
        {"charge_uah": 2_000_000},
        {"charge_uah": 2_100_000},
        {"charge_uah": None},
        {"charge_uah": 1_999_000, "voltage_mv": None},
        {"charge_uah": 1_999_000, "power_state": "AC"},
        {"charge_uah": 1_999_000, "power_state": None},
    ],
)
def test_readings_that_the_battery_lacks_are_not_known(change: dict[str, object]) -> None:
    assert energy_mj(BEFORE, replace(BEFORE, **change)) is None

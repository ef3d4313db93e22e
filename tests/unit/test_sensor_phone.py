"""A phone's clocks, zones, power state, memory and properties."""

from __future__ import annotations

import pytest

from pytest_devperf.sensor.android.clock import capped, parse_clocks
from pytest_devperf.sensor.android.power import parse_power
from pytest_devperf.sensor.android.properties import is_emulator, parse_getprop
from pytest_devperf.sensor.zone import celsius, is_temperature, parse_zones

CLOCKS = """\
policy0 scaling_cur_freq 864000
policy0 scaling_min_freq 300000
policy0 scaling_max_freq 1785600
policy0 cpuinfo_max_freq 1785600
policy0 scaling_governor walt
policy0 related_cpus 0 1 2 3
policy4 scaling_cur_freq 2054400
policy4 scaling_max_freq 2054400
policy4 cpuinfo_max_freq 2419200
policy4 scaling_governor schedutil
policy4 related_cpus 4 5 6
"""


def test_clocks_are_read_by_policy() -> None:
    reading = parse_clocks(CLOCKS)

    assert reading.state == "value"
    assert reading.cur_khz == {"policy0": 864000, "policy4": 2054400}
    assert reading.max_khz == {"policy0": 1785600, "policy4": 2054400}
    assert reading.hardware_max_khz["policy4"] == 2419200
    assert reading.governor == "walt,schedutil"
    assert reading.cpus == {"policy0": (0, 1, 2, 3), "policy4": (4, 5, 6)}


def test_clocks_survive_other_line_ends() -> None:
    assert parse_clocks(CLOCKS.replace("\n", "\r\n")) == parse_clocks(CLOCKS)


def test_without_any_policy_the_clocks_are_unknown() -> None:
    reading = parse_clocks("sh: permission denied\n")

    assert (reading.state, reading.governor) == ("unknown", None)
    assert reading.why == "sh: permission denied"


def test_a_clock_that_is_not_a_number_is_left_out() -> None:
    assert parse_clocks(
        CLOCKS + "policy6 scaling_cur_freq <unsupported>\npolicy7 scaling_cur_freq 0\n"
    ) == parse_clocks(CLOCKS)


def test_only_a_cap_lower_than_at_the_start_is_a_cap() -> None:
    assert capped({"policy0": 2000}, {"policy0": 1500, "policy7": 900}) == {"policy0": 1500}
    assert capped({"policy0": 2000}, {"policy0": 2000}) == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (36700, 36.7),
        (1000, 1.0),
        (999, 99.9),
        (367, 36.7),
        (200, 20.0),
        (199, None),
        (150, 150.0),
        (37, 37.0),
        (1, 1.0),
        (0, None),
        (-40000, None),
        (-274000, None),
        (151000, None),
        (float("nan"), None),
    ],
)
def test_a_zone_counts_in_one_of_three_units(value: float, expected: float | None) -> None:
    assert celsius(value) == expected


@pytest.mark.parametrize(
    "name",
    ["cpu-0-0-step", "pm8150-tz-lowf", "lmh-dcvs-01", "soc", "vbat", "vbat_low", "ibat-high", "bcl-lvl0", "vph_lvl"],
)
def test_some_zones_are_not_temperatures(name: str) -> None:
    assert not is_temperature(name)


def test_zones_of_mixed_units_come_out_in_celsius() -> None:
    text = "cpu-0-0-usr\t48200\nbattery\t305\nskin therm\t34\nsoc\t88\nibat\t412000\npa\t\nxo\tcat: no\nlcd\t0\n"

    assert parse_zones(text) == {"cpu-0-0-usr": 48.2, "battery": 30.5, "skin therm": 34.0}


def test_of_equal_zones_the_hottest_counts() -> None:
    assert parse_zones("tsens\t41000\ntsens\t45000\ntsens\t43000\n") == {"tsens": 45.0}


def test_the_first_wakefulness_counts() -> None:
    text = (
        "POWER MANAGER (dumpsys power)\n\n  mWakefulness=Dozing\n  mSettingBatterySaverEnabled=true\n  mWakefulness=1\n"
    )
    reading = parse_power(text)

    assert (reading.wakefulness, reading.awake, reading.battery_saver) == ("Dozing", False, True)


def test_wakefulness_as_a_number_is_named() -> None:
    assert parse_power("  mWakefulness=1\n").awake is True


def test_other_words_that_end_alike_are_not_wakefulness() -> None:
    assert parse_power("  mLastmWakefulness=Asleep\n  mWakefulness=Awake\r\n").wakefulness == "Awake"


@pytest.mark.parametrize("text", ["", "Can't find service: power\n", "nothing known\n"])
def test_a_power_dump_without_either_word_is_unknown(text: str) -> None:
    reading = parse_power(text)

    assert (reading.state, reading.awake, reading.battery_saver) == ("unknown", None, None)
    assert reading.why


def test_properties_may_hold_line_breaks_and_brackets() -> None:
    text = "[a.list]: [one\ntwo [2]\n\nthree]\n[ro.product.model]: [Fine [5G] phone]\r\n[empty]: []\n"

    assert parse_getprop(text) == {
        "a.list": "one\ntwo [2]\n\nthree",
        "ro.product.model": "Fine [5G] phone",
        "empty": "",
    }


@pytest.mark.parametrize(
    "key", ["ro.serialno", "ro.boot.serialno", "gsm.operator.alpha", "net.dns1", "ro.ril.oem.imei", "ro.boot.btmacaddr"]
)
def test_properties_that_identify_a_unit_or_its_owner_are_never_kept(key: str) -> None:
    assert parse_getprop(f"[{key}]: [secret]\n[ro.soc.model]: [SM0000]\n") == {"ro.soc.model": "SM0000"}


def test_a_property_that_was_cut_off_is_left_out() -> None:
    assert parse_getprop("[ro.soc.model]: [SM0000]\n[ro.product.mod") == {"ro.soc.model": "SM0000"}
    assert parse_getprop("[ro.soc.model]: [SM0000]\n[ro.product.model]: [Fi") == {"ro.soc.model": "SM0000"}


@pytest.mark.parametrize(
    ("properties", "emulator"),
    [
        ({"ro.kernel.qemu": "1"}, True),
        ({"ro.product.device": "generic_x86"}, True),
        ({"ro.build.fingerprint": "google/sdk/emulator64_x86:14/x"}, True),
        ({"ro.product.model": "Fine phone", "ro.kernel.qemu": "0"}, False),
        ({}, False),
    ],
)
def test_an_emulator_is_known_by_its_properties(properties: dict[str, str], emulator: bool) -> None:
    assert is_emulator(properties) is emulator

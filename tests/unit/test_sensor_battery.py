"""The battery service's dump."""

from __future__ import annotations

import pytest

from pytest_devperf.sensor.android.battery import parse_battery


def dump(**changed: object) -> str:
    fields: dict[str, object] = {
        "AC powered": "false",
        "USB powered": "true",
        "Wireless powered": "false",
        "Max charging current": 500000,
        "Max charging voltage": 5000000,
        "Charge counter": 2731000,
        "status": 2,
        "health": 2,
        "present": "true",
        "level": 64,
        "scale": 100,
        "voltage": 4087,
        "temperature": 312,
        "technology": "Li-ion",
    }
    fields.update({key.replace("_", " "): value for key, value in changed.items()})
    lines = [f"  {key}: {value}" for key, value in fields.items() if value is not None]
    return "\n".join(["Current Battery Service state:", *lines, ""])


def test_a_charging_phone_is_read() -> None:
    reading = parse_battery(dump())

    assert reading.state == "value"
    assert (reading.temp_c, reading.level_pct, reading.charging) == (31.2, 64.0, True)
    assert (reading.powered, reading.power_state) == (("usb",), "AC")
    assert (reading.voltage_mv, reading.charge_counter_uah) == (4087, 2731000)


def test_without_any_source_it_runs_on_battery() -> None:
    reading = parse_battery(dump(USB_powered="false", status=3))

    assert (reading.powered, reading.power_state, reading.charging) == ((), "battery", False)


@pytest.mark.parametrize("source", ["Dock powered", "MOD powered", "Wireless powered"])
def test_every_source_counts_as_mains(source: str) -> None:
    text = dump(USB_powered="false", **{source.replace(" ", "_"): "true"})

    assert parse_battery(text).powered == (source.split(maxsplit=1)[0].lower(),)


@pytest.mark.parametrize("tenths", [0, -1, -990, 1001, 31200, "unknown", None])
def test_an_implausible_or_missing_temperature_is_unknown(tenths: object) -> None:
    reading = parse_battery(dump(temperature=tenths))

    assert reading.temp_c is None
    assert reading.level_pct == 64.0
    assert reading.why is not None
    assert "temperature" in reading.why


@pytest.mark.parametrize(("tenths", "celsius"), [(1, 0.1), (1000, 100.0)])
def test_the_ends_of_the_plausible_range_are_believed(tenths: int, celsius: float) -> None:
    assert parse_battery(dump(temperature=tenths)).temp_c == celsius


def test_stopped_updates_are_faked() -> None:
    text = dump().replace("state:\n", "state:\n  (UPDATES STOPPED -- use 'reset' to restart)\n")

    assert parse_battery(text).state == "faked"


def test_only_whole_keys_count() -> None:
    others = "  Capacity level: 3\n  mod level: -1\n  Charging state: 4\n  the voltage is fine\n"

    reading = parse_battery(dump().replace("state:\n", "state:\n" + others, 1))

    assert (reading.level_pct, reading.voltage_mv, reading.charging) == (64.0, 4087, True)


def test_the_first_of_repeated_keys_counts() -> None:
    reading = parse_battery(dump() + "  Charge counter: 5\n  level: 3\n  temperature: 900\n")

    assert (reading.charge_counter_uah, reading.level_pct, reading.temp_c) == (2731000, 64.0, 31.2)


def test_a_later_block_does_not_complete_the_first_one() -> None:
    reading = parse_battery(dump(temperature=None) + "Sec Battery Service state:\n  temperature: 250\n")

    assert reading.temp_c is None


def test_a_key_without_a_value_ends_nothing() -> None:
    text = dump(technology=None).replace("  status: 2", "  technology: \n  a sentence with a colon:\n  status: 2")

    assert parse_battery(text).temp_c == 31.2


def test_a_scale_other_than_hundred_is_divided_out() -> None:
    assert parse_battery(dump(level=64, scale=128)).level_pct == 50.0


@pytest.mark.parametrize("level", [-1, 130])
def test_an_impossible_level_is_unknown(level: int) -> None:
    assert parse_battery(dump(level=level)).level_pct is None


def test_an_unknown_charging_status_stays_unknown() -> None:
    assert parse_battery(dump(status=1)).charging is None


@pytest.mark.parametrize("end", ["\r\n", "\r\r\n", "  \n"])
def test_line_ends_do_not_matter(end: str) -> None:
    assert parse_battery(dump().replace("\n", end)) == parse_battery(dump())


@pytest.mark.parametrize("text", ["", "Can't find service: battery\n", "hello: world\n"])
def test_anything_else_is_unknown(text: str) -> None:
    reading = parse_battery(text)

    assert (reading.state, reading.power_state) == ("unknown", None)
    assert reading.why


def test_a_vendors_sentence_in_the_first_line_refuses_nothing() -> None:
    reading = parse_battery("Battery profile not found, using the default\n  level: 50\n  temperature: 251\n")

    assert (reading.state, reading.level_pct, reading.temp_c) == ("value", 50, 25.1)


def test_a_vendors_sentence_about_stopped_updates_fakes_nothing() -> None:
    reading = parse_battery("level: 50\ntemperature: 251\nlast event: UPDATES STOPPED by thermal, resumed\n")

    assert reading.state == "value"

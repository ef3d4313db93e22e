"""The parsers on output of real phones."""

from __future__ import annotations

import pytest
from captured import captured, list_captured

from pytest_devperf.sensor.android.battery import parse_battery
from pytest_devperf.sensor.android.thermal import parse_thermalservice

THERMAL = {
    # name: state, status, skin, hottest cpu, battery, cooling
    "thermal_pixel_qcom_hal2_status0.txt": ("value", 0, 30.147, 44.1, 28.0, {"battery": 0, "thermal-cpufreq-6": 0}),
    "thermal_pixel_tensor_hal2_mixed_units.txt": ("value", 0, 24.833, 27.0, 22.1, {}),
    "thermal_samsung_sdhms_negative99.txt": ("value", 0, 25.3, 24.0, 24.4, {"TYPE_CPU": 0, "TYPE_MODEM": 1}),
    "thermal_aosp_test_thresholds_headroom.txt": ("unknown", None, None, None, None, {}),
}

BATTERY = {
    # name: °C, %, charging, sources, mV
    "battery_nexus5_hammerhead_crlf.txt": (18.0, 45.0, False, ("usb",), 4189),
    "battery_no_indent.txt": (24.8, 75.0, True, ("ac",), 3997),
    "battery_pixel_android15_capacity_level.txt": (18.0, 80.0, False, ("ac",), 4200),
    "battery_skia_no_temperature_line.txt": (None, 9.0, True, ("ac",), 4248),
}


@pytest.mark.parametrize("name", THERMAL)
def test_a_real_thermal_dump_reads_as_its_device_was(name: str) -> None:
    state, status, skin, cpu, battery, cooling = THERMAL[name]
    reading = parse_thermalservice(captured(f"thermalservice/{name}").decode())

    assert (reading.state, reading.status) == (state, status)
    assert reading.hottest_c("skin") == (None if skin is None else pytest.approx(skin, abs=0.001))
    assert reading.hottest_c("cpu") == (None if cpu is None else pytest.approx(cpu, abs=0.001))
    assert reading.hottest_c("battery") == (None if battery is None else pytest.approx(battery, abs=0.001))
    assert cooling.items() <= dict(reading.cooling).items()


@pytest.mark.parametrize("name", THERMAL)
def test_no_voltage_or_current_of_a_real_dump_reads_as_a_temperature(name: str) -> None:
    reading = parse_thermalservice(captured(f"thermalservice/{name}").decode())

    assert all(1 <= value < 50 for value in reading.temps_c.values())
    assert not [each for each in reading.temps if "ocp" in each or "vdroop" in each or each == "soc"]


@pytest.mark.parametrize("name", THERMAL)
def test_a_real_thermal_dump_cut_anywhere_is_unknown_or_lost_nothing(name: str) -> None:
    text = captured(f"thermalservice/{name}").decode()
    whole = parse_thermalservice(text)

    for length in range(0, len(text), 7):
        reading = parse_thermalservice(text[:length])
        assert reading.state == "unknown" or (reading.status, reading.temps) == (whole.status, whole.temps)


@pytest.mark.parametrize("name", BATTERY)
def test_a_real_battery_dump_reads_as_its_device_was(name: str) -> None:
    temp_c, level_pct, charging, powered, voltage_mv = BATTERY[name]
    reading = parse_battery(captured(f"battery/{name}").decode())

    assert reading.state == "value"
    assert (reading.temp_c, reading.level_pct, reading.charging) == (temp_c, level_pct, charging)
    assert (reading.powered, reading.voltage_mv) == (powered, voltage_mv)


@pytest.mark.parametrize(
    ("kind", "known"), [("thermalservice", THERMAL), ("battery", BATTERY)], ids=["thermalservice", "battery"]
)
def test_every_captured_dump_is_looked_at(kind: str, known: dict[str, object]) -> None:
    assert list_captured(kind) == known.keys()

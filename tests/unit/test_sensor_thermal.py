"""The thermal service's dump: values, unknown and faked states."""

from __future__ import annotations

import pytest

from pytest_devperf.sensor.android.thermal import ThermalReading, parse_thermalservice


def dump(
    current: str = "",
    *,
    status: str = "Thermal Status: 0\n",
    ready: str = "true",
    override: str = "false",
    hal: str = "ThermalHAL AIDL 1  connected: yes",
    cooling: str = "\tCoolingDevice{mValue=0, mType=2, mName=thermal-cpufreq-0}\n",
) -> str:
    return (
        f"IsStatusOverride: {override}\nThermalEventListeners:\n\tcallbacks: 2\n{status}"
        "Cached temperatures:\n\tTemperature{mValue=61.5, mType=3, mName=skin, mStatus=2}\n"
        f"HAL Ready: {ready}\nHAL connection:\n\t{hal}\nCurrent temperatures from HAL:\n{current}"
        f"Current cooling devices from HAL:\n{cooling}"
        "Temperature static thresholds from HAL:\n"
        "\tTemperatureThreshold{mType=3, mName=skin, mHotThrottlingThresholds=[NaN, 39.0, 41.0]}\n"
    )


def entry(value: object, mtype: int, name: str, status: int = 0) -> str:
    return f"\tTemperature{{mValue={value}, mType={mtype}, mName={name}, mStatus={status}}}\n"


COMMON = (
    entry(33.25, 3, "skin") + entry(51.0, 0, "cpu-1-2 usr") + entry(47.5, 1, "gpu-0-usr") + entry(29.7, 2, "battery")
)


def test_current_temperatures_count_and_cached_ones_do_not() -> None:
    reading = parse_thermalservice(dump(COMMON))

    assert reading.state == "value"
    assert reading.status == 0
    assert reading.throttled is False
    assert reading.temps_c == {"skin": 33.25, "cpu-1-2 usr": 51.0, "gpu-0-usr": 47.5, "battery": 29.7}


def test_the_hottest_sensor_of_a_kind_is_found() -> None:
    reading = parse_thermalservice(dump(COMMON + entry(55.5, 0, "cpu-1-7-usr")))

    assert reading.hottest_c("cpu") == 55.5
    assert reading.hottest_c("npu") is None


@pytest.mark.parametrize("status", [1, 3, 6])
def test_any_status_above_none_is_throttling(status: int) -> None:
    assert parse_thermalservice(dump(COMMON, status=f"Thermal Status: {status}\n")).throttled is True


def test_a_hal_that_is_not_ready_is_unknown_and_never_cool() -> None:
    reading = parse_thermalservice(dump(COMMON, ready="false"))

    assert (reading.state, reading.status, reading.throttled) == ("unknown", None, None)
    assert reading.why == "HAL Ready: false"


def test_a_ready_hal_with_an_empty_list_still_has_its_status() -> None:
    reading = parse_thermalservice(dump(""))

    assert (reading.state, reading.status, dict(reading.temps)) == ("value", 0, {})


@pytest.mark.parametrize("ready", ["true", "false"])
def test_an_overridden_status_is_faked(ready: str) -> None:
    reading = parse_thermalservice(dump(COMMON, override="true", ready=ready, status="Thermal Status: 4\n"))

    assert (reading.state, reading.status, reading.throttled, reading.overridden) == ("faked", 4, None, True)


@pytest.mark.parametrize(
    "text",
    [
        "Can't find service: thermalservice\n",
        "",
        "Permission Denial: can't dump thermalservice from pid=1, uid=2\n",
        "something else\n",
    ],
)
def test_a_missing_or_refusing_service_is_unknown(text: str) -> None:
    reading = parse_thermalservice(text)

    assert reading.state == "unknown"
    assert reading.why
    assert reading.throttled is None


def test_a_dump_without_a_status_line_is_unknown() -> None:
    assert parse_thermalservice(dump(COMMON, status="")).why == "no line 'Thermal Status'"


def test_a_dump_cut_anywhere_is_unknown_or_lost_nothing() -> None:
    text = dump(COMMON)
    whole = parse_thermalservice(text)

    for length in range(len(text)):
        reading = parse_thermalservice(text[:length])
        assert reading.state == "unknown" or (reading.status, reading.temps) == (whole.status, whole.temps)


@pytest.mark.parametrize("value", ["0.0", "-99.9", "NaN", "-0.5", "3400.0", "Infinity", ""])
def test_a_sentinel_is_not_a_temperature(value: str) -> None:
    reading = parse_thermalservice(dump(entry(value, 3, "skin") + entry(29.7, 2, "battery")))

    assert reading.temps_c == {"battery": 29.7}


@pytest.mark.parametrize(
    ("mtype", "name"), [(6, "vdroop"), (7, "ocp_cpu3"), (8, "battery"), (-1, "flash"), (-1, "USB2-MINUS-QI")]
)
def test_voltages_currents_percents_and_unknown_units_are_left_out(mtype: int, name: str) -> None:
    assert parse_thermalservice(dump(entry(73.0, mtype, name))).temps_c == {}


def test_a_name_with_a_known_kind_overrides_the_type() -> None:
    reading = parse_thermalservice(dump(entry(36.0, -1, "VIRTUAL-SKIN") + entry(41.0, 3, "BIG")))

    assert reading.temps["VIRTUAL-SKIN"].kind == "skin"
    assert reading.temps["BIG"].kind == "cpu"


def test_the_type_decides_if_the_name_is_unknown() -> None:
    assert parse_thermalservice(dump(entry(31.5, 3, "quiet-therm-monitor"))).hottest_c("skin") == 31.5


def test_types_shifted_by_one_are_detected_by_the_names() -> None:
    shifted = entry(26.0, 1, "TYPE_CPU") + entry(27.5, 3, "TYPE_BATTERY") + entry(28.0, 4, "XO therm")
    reading = parse_thermalservice(dump(shifted + entry(25.0, 6, "TYPE_POWER_AMPLIFIER"), hal="Sdhms connected: yes"))

    assert {name: each.kind for name, each in reading.temps.items()} == {
        "TYPE_CPU": "cpu",
        "TYPE_BATTERY": "battery",
        "XO therm": "skin",
        "TYPE_POWER_AMPLIFIER": "power-amplifier",
    }


def test_names_with_usual_types_override_the_vendor() -> None:
    reading = parse_thermalservice(dump(entry(30.0, 2, "battery") + entry(33.0, 3, "X"), hal="Sdhms connected: yes"))

    assert reading.temps["X"].kind == "skin"


@pytest.mark.parametrize("indent", ["\t", "        ", ""])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n", "   \n"])
def test_indents_line_ends_and_trailing_blanks_do_not_matter(indent: str, end: str) -> None:
    text = dump(COMMON).replace("\t", indent).replace("\n", end)

    assert parse_thermalservice(text) == parse_thermalservice(dump(COMMON))


def test_a_name_may_hold_blanks_commas_and_braces() -> None:
    assert parse_thermalservice(dump(entry(38.0, 3, "back cover, left }"))).temps_c == {"back cover, left }": 38.0}


def test_cooling_devices_are_read_by_name() -> None:
    cooling = "\tCoolingDevice{mValue=100, mType=2, mName=fan 1}\n\tCoolingDevice{mValue=1, mType=4, mName=modem}\n"

    assert parse_thermalservice(dump(COMMON, cooling=cooling)).cooling == {"fan 1": 100, "modem": 1}


def test_of_sensors_of_one_name_the_hottest_counts() -> None:
    cores = entry(71.0, 0, "CPU") + entry(92.5, 0, "CPU", 2) + entry(70.0, 0, "CPU")

    reading = parse_thermalservice(dump(cores))

    assert reading.temps_c == {"CPU": 92.5}
    assert reading.temps["CPU"].status == 2


def test_of_cooling_devices_of_one_name_the_busiest_counts() -> None:
    cooling = "".join(f"\tCoolingDevice{{mValue={value}, mType=2, mName=cpu}}\n" for value in (0, 3, 1))

    assert parse_thermalservice(dump(COMMON, cooling=cooling)).cooling == {"cpu": 3}


def test_the_older_format_of_thresholds_is_not_a_cut_off_dump() -> None:
    text = dump(COMMON).split("Temperature static")[0]
    older = (
        "Temperature static thresholds from HAL:\n\t{.type = SKIN, .name = skin, .hotThrottlingThresholds = [NaN]}\n"
    )

    assert parse_thermalservice(text + older).state == "value"


def test_with_an_unknown_reading_throttling_is_not_known() -> None:
    assert ThermalReading(state="unknown", status=0).throttled is None


def test_a_vendors_sentence_in_the_first_line_refuses_nothing() -> None:
    dump = (
        "vendor config not found\nThermal Status: 1\nHAL Ready: true\nCurrent temperatures from HAL:\n"
        "\tTemperature{mValue=31.0, mType=3, mName=SKIN, mStatus=1}\nCurrent cooling devices from HAL:\n"
    )

    assert parse_thermalservice(dump).throttled is True

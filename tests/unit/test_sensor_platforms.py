"""macOS, Windows and NVML, with texts in their formats."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_devperf.sensor.host.macos import parse_batt, parse_power_mode, parse_therm
from pytest_devperf.sensor.host.nvml import Gpu
from pytest_devperf.sensor.host.supply import Supply
from pytest_devperf.sensor.host.windows import (
    adapter_memory_mb,
    engine_util_pct,
    format_drivers,
    parse_power_plan,
    parse_power_status,
)

INTEL_THERM = """\
Note: No thermal warning level has been recorded
Note: No performance warning level has been recorded
2026-03-04 10:11:12 +0100 CPU Power notify
\tCPU_Scheduler_Limit \t= 100
\tCPU_Available_CPUs \t= 8
\tCPU_Speed_Limit \t= {limit}
"""


@pytest.mark.parametrize(("limit", "throttled"), [(100, False), (57, True)])
def test_a_speed_limit_below_hundred_is_throttling(limit: int, throttled: bool) -> None:
    assert parse_therm(INTEL_THERM.format(limit=limit)) is throttled


def test_nothing_recorded_is_not_known() -> None:
    assert parse_therm("Note: No CPU power status has been recorded\n") is None


def test_a_mac_on_battery_is_read() -> None:
    text = "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=4653155)\t64%; discharging; 5:12 remaining\n"

    assert parse_batt(text) == Supply(state="battery", battery_pct=64.0, charging=False)


def test_a_charged_mac_and_a_desktop_mac_are_read() -> None:
    charged = "Now drawing from 'AC Power'\n -InternalBattery-0 (id=1)\t100%; charged; 0:00 remaining present: true\n"

    assert parse_batt(charged) == Supply(state="AC", battery_pct=100.0, charging=False)
    assert parse_batt("Now drawing from 'AC Power'\n") == Supply(state="AC")
    assert parse_batt("") == Supply()


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        (" lowpowermode         0\n", "automatic"),
        (" powermode            2\n", "high-power"),
        (" standby              1\n", None),
    ],
)
def test_the_power_mode_of_a_mac_is_named(text: str, mode: str | None) -> None:
    assert parse_power_mode("System-wide power settings:\nCurrently in use:\n" + text) == mode


@pytest.mark.parametrize(
    ("line", "flag", "level", "supply"),
    [
        (1, 8 | 1, 90, Supply(state="AC", battery_pct=90.0, charging=True)),
        (0, 2, 12, Supply(state="battery", battery_pct=12.0, charging=False)),
        (1, 128, 255, Supply(state="AC")),
        (255, 255, 255, Supply()),
    ],
)
def test_the_power_status_of_windows_is_read(line: int, flag: int, level: int, supply: Supply) -> None:
    assert parse_power_status(line, flag, level) == supply


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("Power Scheme GUID: 8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c  (High performance)\r\n", "High performance"),
        (
            "GUID des Energieschemas: 381b4222-f694-41f0-9685-ff5bb260df2e  (Ausbalanciert)\n",
            "Ausbalanciert",
        ),
        (
            "Power Scheme GUID: 11111111-2222-3333-4444-555555555555\n",
            "11111111-2222-3333-4444-555555555555",
        ),
        ("", None),
    ],
)
def test_the_power_plan_is_read_in_any_language(text: str, plan: str | None) -> None:
    assert parse_power_plan(text) == plan


def test_engine_use_is_added_over_processes_and_the_busiest_engine_counts() -> None:
    instances = [
        ("pid_100_luid_0x00000000_0x0000C3A2_phys_0_eng_0_engtype_3D", 20.0),
        ("pid_200_luid_0x00000000_0x0000C3A2_phys_0_eng_0_engtype_3D", 15.5),
        ("pid_200_luid_0x00000000_0x0000C3A2_phys_0_eng_5_engtype_VideoDecode", 30.0),
        ("pid_200_luid_0x00000000_0x0000FFFF_phys_0_eng_0_engtype_Compute", 12.0),
    ]

    assert engine_util_pct(instances) == 35.5
    assert engine_util_pct([]) is None


def test_engine_use_never_exceeds_hundred() -> None:
    assert engine_util_pct([("pid_1_luid_0x0_0x1_phys_0_eng_0_engtype_3D", 130.0)]) == 100.0


def test_adapter_memory_is_added_in_megabytes() -> None:
    assert adapter_memory_mb([("luid_0x0_0x1_phys_0", 3e6), ("luid_0x0_0x2_phys_0", 4.5e6)]) == 7.5
    assert adapter_memory_mb([]) is None


def test_drivers_are_named_once_each() -> None:
    assert format_drivers([("B", "2.0"), ("A", "1.0"), ("B", "2.0")]) == "A 1.0, B 2.0"
    assert format_drivers([]) is None


class NotThereError(Exception):
    pass


def binding(version: object, *, temperature: float | None) -> SimpleNamespace:
    """An NVML binding of two GPUs."""

    def degrees(handle: int, _sensor: int) -> float:
        if temperature is None:
            raise NotThereError
        return temperature + handle

    return SimpleNamespace(
        NVMLError=NotThereError,
        NVML_TEMPERATURE_GPU=0,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlSystemGetDriverVersion=lambda: version,
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=10 * handle),
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(used=1e6 * (handle + 1)),
        nvmlDeviceGetTemperature=degrees,
    )


@pytest.mark.parametrize("version", ["555.42", b"555.42"])
def test_nvidia_gpus_are_read_together(version: object) -> None:
    gpu = Gpu(binding(version, temperature=40.0))
    reading = gpu.look()

    assert gpu.driver == "NVIDIA 555.42"
    assert (reading.util_pct, reading.used_mb, reading.temps_c) == (10.0, 3.0, {"nvidia0": 40.0, "nvidia1": 41.0})


def test_readings_that_a_gpu_lacks_are_left_out() -> None:
    assert Gpu(binding("1", temperature=None)).look().temps_c == {}

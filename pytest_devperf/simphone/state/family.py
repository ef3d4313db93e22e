"""The simulated families. The values are invented; the formats follow the output of such phones."""

from __future__ import annotations

from dataclasses import replace

from pytest_devperf.errors import UsageError
from pytest_devperf.simphone.state.personality import (
    FEATURES,
    BatteryForm,
    CoolingDevice,
    Personality,
    Sensor,
    ThermalForm,
    Zone,
)
from pytest_devperf.simphone.state.physics import Body, Cluster


def _steps(low_khz: int, high_khz: int, count: int) -> tuple[int, ...]:
    """Return evenly spaced clocks, each a multiple of 100 kHz except the first and last."""
    inner = [round((low_khz + (high_khz - low_khz) * n / (count - 1)) / 100) * 100 for n in range(1, count - 1)]
    return (low_khz, *inner, high_khz)


def _cpu(name: str, kind: int = 0, offset: float = 0.0) -> Sensor:
    return Sensor(name=name, kind=kind, source="die", offset=offset)


def _fixed(name: str, kind: int, value: float) -> Sensor:
    return Sensor(name=name, kind=kind, offset=value)


def _zones(*sensors: Sensor, scale: int = 1000) -> tuple[Zone, ...]:
    return tuple(Zone(sensor=sensor, scale=scale) for sensor in sensors)


_LITTLE_4 = Cluster(cpus=(0, 1, 2, 3), steps_khz=_steps(300_000, 1_785_600, 12), pinned_khz=1_165_300, watts=0.28)
_BATTERY = Sensor(name="battery", kind=2, source="battery")
_SKIN_BIG = Cluster(cpus=(4, 5, 6, 7), steps_khz=_steps(710_400, 2_419_200, 14), pinned_khz=1_564_100, watts=1.15)

_QUALCOMM = Personality(
    name="pixel-qualcomm",
    words="Sensors by core name, HIDL 2.0 connection, no thresholds section.",
    manufacturer="Google",
    model="Pixel 5",
    codename="redfin",
    board="lito",
    soc_maker="QTI",
    soc="SM7250",
    release="13",
    sdk=33,
    build="TQ3A.230805.001",
    body=Body(clusters=(replace(_LITTLE_4, cpus=(0, 1, 2, 3, 4, 5)), replace(_SKIN_BIG, cpus=(6, 7)))),
    sensors=(
        _BATTERY,
        _cpu("cpu0-gold-usr", offset=1.4),
        _cpu("cpu0-silver-usr"),
        _cpu("cpu1-silver-usr", offset=-0.3),
        Sensor(name="gpu0-usr", kind=1, source="skin", share=0.5),
        Sensor(name="xo-therm monitor", kind=3, source="skin"),
        Sensor(name="usbc-therm-monitor", kind=4, source="air", offset=2.9),
    ),
    zones=_zones(
        _cpu("cpu-0-0-usr"),
        _cpu("cpu-1-0-usr", offset=1.4),
        _fixed("lmh-dcvs-00", -1, 75.0),
        _fixed("cpu-0-0-step", -1, 0.0),
        _fixed("soc", -1, 0.082),
        _fixed("vbat", -1, 4.02),
        Sensor(name="xo-therm-adc", kind=3, source="skin"),
    )
    + _zones(Sensor(name="battery", kind=2, source="battery"), scale=1000),
    cooling=(
        CoolingDevice(name="battery", kind=1),
        CoolingDevice(name="thermal-cpufreq-0", kind=2, steps=12),
        CoolingDevice(name="thermal-cpufreq-6", kind=2, steps=16),
    ),
    thermal=ThermalForm(connection="ThermalHAL 2.0 connected: yes", thresholds="none"),
    memory_kib=7_640_000,
)

_TENSOR = Personality(
    name="pixel-tensor",
    words="Three clusters, virtual skin sensors, currents and voltages among the temperatures, headroom section.",
    manufacturer="Google",
    model="Pixel 8",
    codename="shiba",
    board="zuma",
    soc_maker="Google",
    soc="Tensor G3",
    release="15",
    sdk=35,
    build="AP4A.250105.002",
    body=Body(
        clusters=(
            replace(_LITTLE_4, steps_khz=_steps(324_000, 1_704_000, 11), pinned_khz=1_197_800),
            replace(_SKIN_BIG, steps_khz=_steps(402_000, 2_367_000, 15), pinned_khz=1_526_300, watts=0.9),
            Cluster(cpus=(8,), steps_khz=_steps(500_000, 2_914_000, 17), pinned_khz=1_706_800, watts=2.3),
        ),
        skin_limits_c=(39.0, 43.0, 45.0, 46.5, 52.0, 55.0),
    ),
    sensors=(
        _fixed("ocp_gpu", 7, 11800.0),
        _cpu("BIG", offset=3.0),
        _cpu("MID", offset=1.0),
        _cpu("LITTLE", offset=-1.0),
        _fixed("vdroop1", 6, 1075.0),
        Sensor(name="G3D", kind=1, source="skin", share=0.4),
        Sensor(name="TPU", kind=9, source="skin", share=0.2),
        _BATTERY,
        _fixed("soc", 8, 18.0),
        Sensor(name="VIRTUAL-SKIN", kind=3, source="skin"),
        Sensor(name="neutral_therm", kind=-1, source="skin", offset=-0.7),
        _fixed("USB2-MINUS-QI", -1, -1.4),
        _fixed("VIRTUAL-USB-THROTTLING", 4, 0.0),
    ),
    zones=_zones(
        _cpu("BIG", offset=3.0),
        _cpu("LITTLE", offset=-1.0),
        Sensor(name="neutral_therm", kind=-1, source="skin", offset=-0.7),
        _fixed("soc", 8, 0.018),
        _fixed("bcl_gm", 6, 1.3),
        _fixed("ocp_tpu", 7, 10.3),
    )
    + _zones(_BATTERY, scale=10),
    cooling=(
        CoolingDevice(name="thermal-cpufreq-0", kind=2, steps=10),
        CoolingDevice(name="thermal-cpufreq-2", kind=2, steps=16),
        CoolingDevice(name="tpu_cooling", kind=9, steps=5),
    ),
    thermal=ThermalForm(headroom=True),
    battery=BatteryForm(extra=("Charging state: 1", "Charging policy: 1", "Capacity level: 3")),
    governor="sched_pixel",
    memory_kib=7_780_000,
)

_SAMSUNG_NEW = replace(
    _QUALCOMM,
    name="samsung-new",
    words="Caps its clock long before it reports throttling.",
    manufacturer="samsung",
    model="SM-S911B",
    codename="dm1q",
    board="kalama",
    soc="SM8550",
    release="14",
    sdk=34,
    build="UP1A.231005.007",
    body=Body(clusters=(_LITTLE_4, _SKIN_BIG), silent_cap_c=35.5, skin_limits_c=(42.0, 44.0, 46.0, 48.0, 50.0, 54.0)),
    sensors=(
        Sensor(name="SKIN", kind=3, source="skin"),
        _cpu("AP"),
        Sensor(name="BATTERY", kind=2, source="battery"),
        Sensor(name="USB", kind=4, source="air", offset=3.3),
        _fixed("PA", 5, -99.9),
    ),
    thermal=ThermalForm(connection="ThermalHAL AIDL 2  connected: yes", indent="        ", thresholds="aidl"),
    cooling=(CoolingDevice(name="modem", kind=4, resting=1), CoolingDevice(name="cpufreq-cpu0", kind=2, steps=9)),
    battery=BatteryForm(extra=("mod level: -1", "capacity: 4010mAh", "LED Low Battery voltage: 3400")),
)

_SAMSUNG_OLD = replace(
    _SAMSUNG_NEW,
    name="samsung-old",
    words="Sensor types shifted by one, -99.9 for missing sensors, another connection line.",
    model="SM-G973F",
    codename="beyond1",
    board="exynos9820",
    soc_maker="Samsung",
    soc="Exynos 9820",
    release="11",
    sdk=30,
    build="RP1A.200720.012",
    sensors=(
        _fixed("TYPE_POWER_AMPLIFIER", 6, -99.9),
        Sensor(name="TYPE_SKIN", kind=4, source="skin"),
        _cpu("TYPE_CPU", kind=1),
        Sensor(name="TYPE_BATTERY", kind=3, source="battery"),
        Sensor(name="TYPE_USB_PORT", kind=5, source="air", offset=2.1),
    ),
    thermal=ThermalForm(connection="Sdhms connected: yes", indent=" ", thresholds="none"),
    cooling=(CoolingDevice(name="TYPE_CPU", kind=2, steps=8), CoolingDevice(name="TYPE_MODEM", kind=4, resting=1)),
    memory_kib=7_500_000,
)

_XIAOMI = replace(
    _QUALCOMM,
    name="xiaomi-hyperos",
    words="Caps its clock while idle, without throttling.",
    manufacturer="Xiaomi",
    model="2311DRK48G",
    codename="duchamp",
    board="mt6897",
    soc_maker="Mediatek",
    soc="MT6897",
    release="14",
    sdk=34,
    build="UP1A.230905.011",
    body=Body(
        clusters=(_LITTLE_4, replace(_SKIN_BIG, idle_cap_khz=1_890_000)),
        battery_refresh_s=60.0,
        battery_j_per_k=70.0,
    ),
    sensors=(
        _cpu("cpu-big-core0"),
        Sensor(name="board_sensor skin", kind=3, source="skin"),
        _BATTERY,
        Sensor(name="charger_therm0", kind=4, source="battery", offset=2.0),
        _fixed("virtual-bcl", 8, 96.0),
    ),
    thermal=ThermalForm(connection="ThermalHAL AIDL 1  connected: yes", thresholds="aidl", listeners=False),
    memory_kib=11_600_000,
)

_MOTOROLA = replace(
    _QUALCOMM,
    name="motorola",
    words="Thresholds in the older format, zones in tenths, a battery dump with accessories.",
    manufacturer="motorola",
    model="moto g power",
    codename="tonga",
    board="holi",
    soc="SM4350",
    release="12",
    sdk=31,
    build="S1SQS32.55-32",
    body=Body(clusters=(_LITTLE_4, replace(_SKIN_BIG, watts=0.8)), battery_refresh_s=10.0),
    sensors=(
        _cpu("cpu 0"),
        _BATTERY,
        Sensor(name="back cover", kind=3, source="skin"),
        _fixed("vbat level", 6, 4011.0),
    ),
    zones=_zones(_cpu("cpu-0-0"), _fixed("ibat-lvl0", 7, 0.35))
    + _zones(Sensor(name="chg_therm", kind=2, source="battery"), scale=10)
    + _zones(Sensor(name="back_therm", kind=3, source="skin"), scale=1),
    thermal=ThermalForm(connection="ThermalHAL 2.0 connected: yes", thresholds="hidl"),
    battery=BatteryForm(sources=("AC", "USB", "Wireless", "MOD"), extra=("mod level: -1", "mod status: 1")),
    memory_kib=3_700_000,
)

_HAL_NOT_READY = replace(
    _MOTOROLA,
    name="hal-not-ready",
    words="The thermal service exists without hardware: status 0 means nothing.",
    model="moto e20",
    codename="aruba",
    thermal=ThermalForm(ready=False, thresholds="none"),
    fixed_performance=False,
)

_ANDROID9 = replace(
    _QUALCOMM,
    name="android9",
    words="No thermal service, no fixed-performance mode, no shell protocol with return codes.",
    manufacturer="LGE",
    model="Nexus 5X",
    codename="bullhead",
    board="msm8992",
    soc="MSM8992",
    release="9",
    sdk=28,
    build="PQ3A.190801.002",
    thermal=None,
    battery=BatteryForm(sources=("AC", "USB", "Wireless"), newline="\r\n"),
    features=tuple(feature for feature in FEATURES if feature not in {"shell_v2", "ls_v2", "sendrecv_v2"}),
    fixed_performance=False,
    governor="interactive",
    memory_kib=1_850_000,
)

_EMULATOR = replace(
    _TENSOR,
    name="emulator",
    words="Never warms up, shows no clocks, and has a cooling device that is always at 100.",
    model="sdk_gphone64",
    codename="emu64x",
    board="goldfish_x86_64",
    soc_maker="AOSP",
    soc="ranchu",
    build="AE3A.240806.005",
    body=Body(
        clusters=(Cluster(cpus=(0, 1, 2, 3), steps_khz=(2_000_000,), pinned_khz=2_000_000, watts=0.001),),
        idle_watts=0.0,
        charging_watts=0.0,
        ambient_c=25.0,
    ),
    sensors=(_fixed("test temperature sensor", 3, 30.8),),
    zones=(),
    cooling=(CoolingDevice(name="test cooling device", kind=2, resting=100),),
    thermal=ThermalForm(headroom=True, cached_off_c=0.0),
    cpufreq=False,
    memory_kib=2_020_000,
    emulator=True,
)

PERSONALITIES = {
    person.name: person
    for person in (
        _QUALCOMM,
        _TENSOR,
        _SAMSUNG_NEW,
        _SAMSUNG_OLD,
        _XIAOMI,
        _MOTOROLA,
        _HAL_NOT_READY,
        _ANDROID9,
        _EMULATOR,
    )
}
"""Every personality by name."""


def personality_named(name: str) -> Personality:
    """Return a personality by its name.

    Raises:
        UsageError: No personality has that name.
    """
    if name not in PERSONALITIES:
        raise UsageError(f"unknown simulated phone {name!r}", f"choose one of {', '.join(PERSONALITIES)}")
    return PERSONALITIES[name]

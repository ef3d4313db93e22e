"""This machine's sensors, on a synthetic tree of kernel files and on the real one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.host.linux import (
    MAX_OPEN,
    MAX_POLICIES,
    Files,
    LinuxSensors,
    deciding_names,
)
from pytest_devperf.sensor.host.machine import Machine, os_name, python_name
from pytest_devperf.sensor.host.supply import Supply, parse_supply
from pytest_devperf.sensor.proc import CpuTimes, parse_cpu_times, parse_meminfo, parse_pressure_pct, parse_status_bytes

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads files of the Linux kernel")

LAPTOP = {
    "proc/stat": "cpu  1000 10 500 8000 90 0 40 60 25 0\ncpu0 500 5 250 4000 45 0 20 30 12 0\n",
    "proc/meminfo": "MemTotal: 16000000 kB\nMemFree: 10 kB\nMemAvailable:    8000000 kB\n",
    "proc/pressure/cpu": "some avg10=3.25 avg60=1.00 avg300=0.10 total=99\nfull avg10=0.00 total=0\n",
    "proc/self/status": "Name:\tpython\nVmHWM:\t  70000 kB\nVmRSS:\t  50000 kB\n",
    "sys/class/hwmon/hwmon0/name": "nvme\n",
    "sys/class/hwmon/hwmon0/temp1_input": "71850\n",
    "sys/class/hwmon/hwmon0/temp1_label": "Composite\n",
    "sys/class/hwmon/hwmon1/name": "coretemp\n",
    "sys/class/hwmon/hwmon1/temp1_input": "58000\n",
    "sys/class/hwmon/hwmon1/temp1_label": "Package id 0\n",
    "sys/class/hwmon/hwmon1/temp2_input": "59000\n",
    "sys/class/hwmon/hwmon1/temp2_label": "Core 0\n",
    "sys/class/hwmon/hwmon2/name": "broken\n",
    "sys/class/hwmon/hwmon2/temp1_input": "-128000\n",
    "sys/class/thermal/thermal_zone0/type": "acpitz\n",
    "sys/class/thermal/thermal_zone0/temp": "27800\n",
    "sys/class/thermal/cooling_device0/type": "Fan\n",
    "sys/class/thermal/cooling_device0/cur_state": "3\n",
    "sys/class/thermal/cooling_device1/type": "Processor\n",
    "sys/class/thermal/cooling_device1/cur_state": "0\n",
    "sys/class/power_supply/AC/type": "Mains\n",
    "sys/class/power_supply/AC/online": "1\n",
    "sys/class/power_supply/BAT0/type": "Battery\n",
    "sys/class/power_supply/BAT0/status": "Charging\n",
    "sys/class/power_supply/BAT0/capacity": "81\n",
    "sys/class/power_supply/hidpp/type": "Battery\n",
    "sys/class/power_supply/hidpp/scope": "Device\n",
    "sys/class/power_supply/hidpp/capacity": "5\n",
    "sys/firmware/acpi/platform_profile": "balanced\n",
    **{
        f"sys/devices/system/cpu/cpufreq/policy{n}/{name}": f"{value}\n"
        for n in range(2)
        for name, value in (
            ("scaling_cur_freq", 1400000 + n),
            ("scaling_max_freq", 4600000),
            ("scaling_governor", "powersave"),
        )
    },
    **{
        f"sys/devices/system/cpu/cpu{cpu}/{name}": f"{value}\n"
        for cpu in range(4)
        for name, value in (
            ("topology/physical_package_id", 0),
            ("topology/core_id", cpu // 2),
            ("thermal_throttle/core_throttle_count", 5),
            ("thermal_throttle/package_throttle_count", 7),
        )
    },
}


class Timeless:
    """A clock on which something happens while it sleeps."""

    def __init__(self, meanwhile: object = None) -> None:
        self.slept: list[float] = []
        self._meanwhile = meanwhile

    def now_ns(self) -> int:
        return 42

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if callable(self._meanwhile):
            self._meanwhile()


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    plant(tmp_path, LAPTOP)
    return tmp_path


def plant(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@needs_linux
def test_a_laptop_is_read(laptop: Path) -> None:
    seen = Machine(LinuxSensors(laptop)).look(7)

    assert seen.at_ns == 7
    assert seen.temp_c == 58.0
    assert seen.temps_c == {
        "nvme/Composite": 71.85,
        "coretemp/Package id 0": 58.0,
        "coretemp/Core 0": 59.0,
        "acpitz": 27.8,
    }
    assert seen.cur_khz == {"policy0": 1400000, "policy1": 1400001}
    assert seen.max_khz == {"policy0": 4600000, "policy1": 4600000}
    assert seen.governor == "powersave"
    assert seen.pinned is False
    assert seen.throttled is False
    assert (seen.power_state, seen.battery_pct, seen.charging) == ("AC", 81.0, True)
    assert seen.power_plan == "balanced"
    assert seen.free_ram_mb == pytest.approx(8192.0)
    assert seen.used_ram_mb == pytest.approx(51.2)
    assert seen.pressure_cpu_pct == 3.25


@needs_linux
@pytest.mark.parametrize(
    "second",
    [
        {"sys/class/thermal/thermal_zone1/type": "x86_pkg_temp\n", "sys/class/thermal/thermal_zone1/temp": "{}\n"},
        {"sys/class/hwmon/hwmon1/name": "k10temp\n", "sys/class/hwmon/hwmon1/temp1_input": "{}\n"},
    ],
    ids=["zones", "chips"],
)
@pytest.mark.parametrize("temps", [(62_000, 88_000), (88_000, 62_000)], ids=["second hotter", "first hotter"])
def test_of_two_sockets_the_hotter_one_decides(tmp_path: Path, second: dict[str, str], temps: tuple[int, int]) -> None:
    first = {name.replace("zone1", "zone0").replace("hwmon1", "hwmon0"): text for name, text in second.items()}
    for files, temp in ((first, temps[0]), (second, temps[1])):
        plant(tmp_path, {name: text.format(temp) for name, text in files.items()})
        if any("hwmon" in name for name in files):
            folder = (tmp_path / next(iter(files))).parent
            (folder / "temp1_label").write_text("Tctl\n")
    sensors = LinuxSensors(tmp_path)

    assert sensors.look(quick=False).temp_c == 88.0
    assert sensors.look(quick=True).temp_c == 88.0


@needs_linux
def test_throttle_counters_are_added_once_per_package_and_core(laptop: Path) -> None:
    assert LinuxSensors(laptop).throttle_count() == 7 + 2 * 5


@needs_linux
def test_a_rise_of_the_throttle_counter_is_throttling_once(laptop: Path) -> None:
    machine = Machine(LinuxSensors(laptop))
    before = machine.look(1)
    plant(laptop, {"sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count": "6\n"})
    during, after = machine.look(2, quick=True), machine.look(3)

    assert [look.throttled for look in (before, during, after)] == [False, True, False]


@needs_linux
def test_a_cooling_device_that_slows_the_processor_is_throttling(laptop: Path) -> None:
    plant(laptop, {"sys/class/thermal/cooling_device1/cur_state": "2\n"})

    assert Machine(LinuxSensors(laptop)).look(1).throttled is True


@needs_linux
@pytest.mark.parametrize(("flags", "throttled"), [("0x0", False), ("0x50000", False), ("0x4", True), ("50002", None)])
def test_a_raspberry_pi_reports_throttling_by_its_firmware(tmp_path: Path, flags: str, throttled: bool | None) -> None:
    plant(tmp_path, {"sys/devices/platform/soc/soc:firmware/get_throttled": flags})
    expected = bool(int(flags) & 0b1110) if throttled is None else throttled

    assert LinuxSensors(tmp_path).throttled_now() is expected


@needs_linux
def test_without_sensors_every_reading_is_not_known(tmp_path: Path) -> None:
    seen = Machine(LinuxSensors(tmp_path)).look(1)

    assert replace(seen, env={}) == Context(at_ns=1, pinned=False)


@needs_linux
def test_a_quick_look_reads_only_the_deciding_temperature_and_repeats_the_supply(laptop: Path) -> None:
    machine = Machine(LinuxSensors(laptop))
    machine.look(1)
    plant(laptop, {"sys/class/hwmon/hwmon1/temp1_input": "66000\n", "sys/class/power_supply/AC/online": "0\n"})
    quick, full = machine.look(2, quick=True), machine.look(3)

    assert quick.temps_c == {"coretemp/Package id 0": 66.0}
    assert (quick.temp_c, quick.power_state, quick.power_plan, quick.battery_pct) == (66.0, "AC", "balanced", 81.0)
    assert quick.env == full.env
    assert full.power_state == "battery"


@needs_linux
def test_the_first_look_is_a_full_one_even_if_quick_was_asked(laptop: Path) -> None:
    assert Machine(LinuxSensors(laptop)).look(1, quick=True).power_state == "AC"


@needs_linux
def test_cpu_use_is_that_since_the_last_look(laptop: Path) -> None:
    machine = Machine(LinuxSensors(laptop))
    plant(laptop, {"proc/stat": "cpu  1030 10 500 8060 100 0 40 60 25 0\n"})

    assert machine.look(1).cpu_pct == pytest.approx(30.0)


@needs_linux
def test_stolen_time_is_that_since_the_previous_look(laptop: Path) -> None:
    machine = Machine(LinuxSensors(laptop))
    plant(laptop, {"proc/stat": "cpu  1020 10 500 8050 90 0 40 90 25 0\n"})
    first = machine.look(1)
    plant(laptop, {"proc/stat": "cpu  1070 10 500 8100 90 0 40 90 25 0\n"})

    assert (first.cpu_pct, first.stolen_pct) == (pytest.approx(50.0), pytest.approx(30.0))
    assert machine.look(2).stolen_pct == 0.0


@needs_linux
def test_too_few_ticks_make_no_percentage_and_are_counted_later(laptop: Path) -> None:
    machine = Machine(LinuxSensors(laptop))
    plant(laptop, {"proc/stat": "cpu  1005 10 500 8000 90 0 40 60 25 0\n"})
    early = machine.look(1).cpu_pct
    plant(laptop, {"proc/stat": "cpu  1005 10 500 8015 90 0 40 60 25 0\n"})

    assert early is None
    assert machine.look(2).cpu_pct == pytest.approx(25.0)


@needs_linux
def test_the_idle_sample_measures_the_use_of_other_processes(laptop: Path) -> None:
    clock = Timeless(lambda: plant(laptop, {"proc/stat": "cpu  1045 10 500 8055 90 0 40 60 25 0\n"}))
    seen = Machine(LinuxSensors(laptop)).prerun(clock, 0.25)

    assert clock.slept == [0.25]
    assert (seen.at_ns, seen.cpu_pct) == (42, pytest.approx(45.0))


@needs_linux
def test_a_sensor_that_goes_away_becomes_unknown(laptop: Path) -> None:
    sensors = LinuxSensors(laptop)
    (laptop / "sys/class/hwmon/hwmon1/temp1_input").unlink()

    assert sensors.look(quick=False).temp_c is None


@needs_linux
def test_no_more_than_some_files_stay_open_and_all_are_given_back(tmp_path: Path) -> None:
    plant(tmp_path, {f"f{i}": str(i) for i in range(MAX_OPEN + 10)})
    before = len(list(Path("/proc/self/fd").iterdir()))
    files = Files()

    assert [files.text(tmp_path / f"f{i}") for i in range(MAX_OPEN + 10)] == [str(i) for i in range(MAX_OPEN + 10)]
    assert len(list(Path("/proc/self/fd").iterdir())) == before + MAX_OPEN
    files.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@needs_linux
def test_of_many_policies_some_spread_over_all_are_read(tmp_path: Path) -> None:
    plant(tmp_path, {f"sys/devices/system/cpu/cpufreq/policy{n}/scaling_max_freq": "1000" for n in range(100)})

    names = list(LinuxSensors(tmp_path).clocks_khz("scaling_max_freq"))

    assert len(names) <= MAX_POLICIES
    assert names[:2] == ["policy0", "policy7"]


@needs_linux
def test_this_machine_answers_with_plausible_numbers() -> None:
    machine = Machine()
    seen = machine.look(1)

    assert seen.free_ram_mb is not None
    assert seen.free_ram_mb > 0
    assert seen.used_ram_mb is not None
    assert seen.used_ram_mb > 1
    assert seen.temp_c is None or 1 <= seen.temp_c <= 150
    assert set(seen.env) == {"os", "driver", "python"}


def test_the_interpreter_and_the_system_are_named() -> None:
    assert python_name().split()[-1].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert os_name()


def test_steal_is_busy_and_waiting_for_a_disk_is_idle() -> None:
    assert parse_cpu_times("cpu 10 0 5 80 20 0 0 7 3 0\n") == CpuTimes(busy=22, total=122, stolen=7)


def test_without_steal_in_the_kernel_it_is_not_known() -> None:
    assert parse_cpu_times("cpu 10 0 5 80\n") == CpuTimes(busy=15, total=95)


@pytest.mark.parametrize("text", ["", "intr 1 2 3 4 5\n", "cpu 1\n"])
def test_other_texts_are_not_cpu_times(text: str) -> None:
    assert parse_cpu_times(text) is None


def test_sizes_and_pressure_that_the_kernel_lacks_are_none() -> None:
    assert parse_meminfo("MemTotal: 1 kB\n").available_mb is None
    assert parse_meminfo("MemTotal: 1 kB\n").used_mb is None
    assert parse_pressure_pct("") is None
    assert parse_status_bytes("State:\tZ (zombie)\n", "VmHWM") is None


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["k10temp/Tctl", "k10temp/Tdie"], ("k10temp/Tdie",)),
        (["coretemp/Package id 0", "coretemp/Package id 1", "x"], ("coretemp/Package id 0", "coretemp/Package id 1")),
        (["acpitz", "x86_pkg_temp"], ("x86_pkg_temp",)),
        (["cpu_thermal/temp1", "gpu-thermal"], ("cpu_thermal/temp1",)),
        (["nvme/Composite", "iwlwifi_1/temp1"], ()),
    ],
)
def test_the_sensor_nearest_to_the_package_decides(names: list[str], chosen: tuple[str, ...]) -> None:
    assert deciding_names(names) == chosen


@pytest.mark.parametrize(
    ("supplies", "supply"),
    [
        ([], Supply()),
        ([{"type": "Mains", "online": "1"}], Supply(state="AC")),
        (
            [{"type": "Mains", "online": "0"}, {"type": "Battery", "status": "Discharging", "capacity": "40"}],
            Supply(state="battery", battery_pct=40.0, charging=False),
        ),
        (
            [{"type": "Battery", "status": "Full", "capacity": "100"}],
            Supply(state="AC", battery_pct=100.0, charging=False),
        ),
        (
            [{"type": "Battery", "capacity": "80"}, {"type": "Battery", "status": "Discharging", "capacity": "20"}],
            Supply(state="battery", battery_pct=20.0, charging=False),
        ),
        ([{"type": "Battery", "scope": "Device", "capacity": "5"}], Supply()),
    ],
)
def test_mains_and_batteries_are_put_together(supplies: list[dict[str, str]], supply: Supply) -> None:
    assert parse_supply(supplies) == supply

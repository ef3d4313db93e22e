"""The examination of a device: what is found, how bad it is, and what helps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.doctor.finding import Finding, ordered, worst
from pytest_devperf.doctor.host import examine_host
from pytest_devperf.doctor.host_facts import Busy, HostFacts, read_host_facts
from pytest_devperf.doctor.phone import PhoneState, examine_phone
from pytest_devperf.doctor.trial import Trial, alternate, compare_halves
from pytest_devperf.measure.round import Round, StartResult
from pytest_devperf.report.terminal.findings import as_document, render
from pytest_devperf.sensor.android.power import PowerReading
from pytest_devperf.sensor.context import Context, CpuSet

QUIET = Context(
    at_ns=0,
    temp_c=40.0,
    cpu_pct=1.0,
    governor="performance",
    power_state="AC",
    throttled=False,
    cpu_set=CpuSet(cpus="0-3", usable=4),
    free_ram_mb=8000.0,
)
STEADY = HostFacts(turbo=False, smt=False, aslr=False, clocksource="tsc", virtual="", swap_used_mb=0.0, critical_c=95.0)


def host_findings(facts: HostFacts = STEADY, context: Context = QUIET, step_ns: float = 40.0) -> dict[str, Finding]:
    """Examine a host, and return its findings by their names."""
    return {each.check: each for each in examine_host(facts, context, clock_step_ns=step_ns)}


def with_fields(value: Any, **fields: Any) -> Any:
    from dataclasses import replace

    return replace(value, **fields)


def test_on_a_quiet_machine_everything_is_good() -> None:
    assert {each.grade for each in host_findings().values()} == {"good"}


@pytest.mark.parametrize(
    ("check", "grade", "facts", "context"),
    [
        ("load", "poor", {}, {"cpu_pct": 10.0}),
        ("load", "bad", {"busiest": (Busy(name="cc1plus", cpu_pct=180.0),)}, {"cpu_pct": 45.0}),
        ("load", "unknown", {}, {"cpu_pct": None}),
        ("load", "poor", {}, {"cpu_pct": None, "pressure_cpu_pct": 12.0}),
        ("load", "bad", {}, {"cpu_pct": None, "pressure_cpu_pct": 80.0}),
        ("power", "bad", {}, {"power_state": "battery"}),
        ("power", "poor", {}, {"power_plan": "low-power"}),
        ("power", "unknown", {}, {"power_state": None}),
        ("heat", "bad", {}, {"throttled": True}),
        ("heat", "poor", {}, {"temp_c": 85.0}),
        ("heat", "unknown", {}, {"temp_c": None}),
        ("CPUs", "bad", {}, {"cpu_set": CpuSet(cpus="0-3", usable=0.5)}),
        ("CPUs", "poor", {}, {"cpu_set": CpuSet(cpus="0-3", usable=1.5)}),
        ("CPUs", "unknown", {}, {"cpu_set": None}),
        ("governor", "poor", {}, {"governor": "performance,powersave"}),
        ("turbo", "note", {"turbo": True}, {}),
        ("core sharing", "note", {"smt": True}, {}),
        ("memory layout", "note", {"aslr": True}, {}),
        ("machine", "note", {"virtual": "KVM"}, {"stolen_pct": 0.2}),
        ("machine", "poor", {"virtual": "KVM"}, {"stolen_pct": 4.0}),
        ("machine", "unknown", {"virtual": None}, {}),
        ("memory", "poor", {}, {"free_ram_mb": 100.0}),
        ("memory", "poor", {"swap_used_mb": 900.0}, {}),
        ("clock", "poor", {"clocksource": "hpet"}, {}),
    ],
)
def test_what_disturbs_a_host_is_found_with_its_cost(
    check: str, grade: str, facts: dict[str, Any], context: dict[str, Any]
) -> None:
    findings = host_findings(with_fields(STEADY, **facts), with_fields(QUIET, **context))

    assert findings[check].grade == grade
    assert [each.check for each in findings.values() if each.grade != "good"] == [check]
    if grade in {"bad", "poor", "note"}:
        assert findings[check].costs


def test_a_busy_machine_names_the_programs() -> None:
    facts = with_fields(STEADY, busiest=(Busy(name="cc1plus", cpu_pct=180.0),))

    assert "cc1plus 180 %" in host_findings(facts, with_fields(QUIET, cpu_pct=45.0))["load"].found


def test_a_container_on_an_unknown_machine_is_named() -> None:
    assert host_findings(with_fields(STEADY, virtual=None, container=True))["machine"].found == "in a container"


def test_a_clock_of_coarse_steps_is_poor() -> None:
    assert host_findings(step_ns=15_600_000.0)["clock"].grade == "poor"


AWAKE = PowerReading(state="value", wakefulness="Awake", battery_saver=False)
PHONE = PhoneState(
    context=Context(
        at_ns=0,
        temp_c=28.0,
        throttled=False,
        cpu_pct=2.0,
        battery_pct=80.0,
        charging=False,
        max_khz={"policy0": 1_800_000},
    ),
    power=AWAKE,
    leftover=None,
    emulator=False,
    debuggable=False,
)


def test_a_rested_phone_is_good() -> None:
    assert {each.grade for each in examine_phone(PHONE)} == {"good"}


@pytest.mark.parametrize(
    ("check", "grade", "phone", "context"),
    [
        ("leftovers", "bad", {"leftover": "another session left its clocks pinned"}, {}),
        ("sensors", "bad", {}, {"faked": True}),
        ("heat", "bad", {}, {"throttled": True}),
        ("heat", "poor", {}, {"temp_c": 41.0}),
        ("load", "poor", {}, {"cpu_pct": 40.0}),
        ("battery saver", "bad", {"power": with_fields(AWAKE, battery_saver=True)}, {}),
        ("battery saver", "unknown", {"power": with_fields(AWAKE, battery_saver=None)}, {}),
        ("battery", "poor", {}, {"battery_pct": 12.0}),
        ("charging", "note", {}, {"charging": True}),
        ("screen", "note", {"power": with_fields(AWAKE, wakefulness="Dozing")}, {}),
        ("clocks", "unknown", {}, {"max_khz": {}}),
        ("system", "note", {"emulator": True}, {}),
        ("system", "note", {"debuggable": True}, {}),
    ],
)
def test_what_disturbs_a_phone_is_found(check: str, grade: str, phone: dict[str, Any], context: dict[str, Any]) -> None:
    found = list(examine_phone(with_fields(PHONE, **phone, context=with_fields(PHONE.context, **context))))

    assert {each.check: each.grade for each in found if each.grade != "good"} == {check: grade}


def test_the_worst_findings_come_first() -> None:
    grades = ("good", "poor", "unknown", "bad", "note", "poor")
    findings = [Finding(check=str(n), grade=grade, found="") for n, grade in enumerate(grades)]  # type: ignore[arg-type]

    assert [each.check for each in ordered(findings)] == ["3", "1", "5", "4", "0", "2"]
    assert [each.check for each in worst(findings, 2)] == ["3", "1"]


FILES = {
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "sys/devices/system/cpu/smt/active": "1\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/class/dmi/id/sys_vendor": "QEMU\n",
    "sys/class/dmi/id/product_name": "Standard PC\n",
    "proc/cpuinfo": "processor : 0\nflags : fpu vme hypervisor\n",
    "proc/meminfo": "MemTotal: 8000 kB\nSwapTotal: 2000000 kB\nSwapFree: 1500000 kB\n",
    "sys/class/thermal/thermal_zone0/trip_point_0_type": "active\n",
    "sys/class/thermal/thermal_zone0/trip_point_0_temp": "50000\n",
    "sys/class/thermal/thermal_zone0/trip_point_1_type": "passive\n",
    "sys/class/thermal/thermal_zone0/trip_point_1_temp": "95000\n",
    "sys/class/hwmon/hwmon0/name": "coretemp\n",
    "sys/class/hwmon/hwmon0/temp1_max": "100000\n",
    ".dockerenv": "",
}


def write_files(root: Path, files: dict[str, str]) -> Path:
    """Write a folder that contains `proc` and `sys`."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_settings_of_a_linux_machine_are_read(tmp_path: Path) -> None:
    facts = read_host_facts(write_files(tmp_path, FILES), sample_s=0.0)

    assert facts == HostFacts(
        turbo=True,
        smt=True,
        aslr=True,
        clocksource="tsc",
        virtual="QEMU Standard PC",
        container=True,
        swap_used_mb=512.0,
        critical_c=95.0,
        busiest=facts.busiest,
    )


@pytest.mark.parametrize("text", ["", "\x00\xff", "yes", "-1 -1", "9" * 100_000])
def test_settings_that_cannot_be_read_are_not_known(tmp_path: Path, text: str) -> None:
    facts = read_host_facts(write_files(tmp_path, dict.fromkeys(FILES, text)), sample_s=0.0)

    assert (facts.turbo, facts.smt, facts.aslr, facts.swap_used_mb, facts.critical_c) == (None,) * 5


def test_boost_of_other_drivers_is_turbo_too(tmp_path: Path) -> None:
    assert read_host_facts(write_files(tmp_path, {"sys/devices/system/cpu/cpufreq/boost": "1"}), sample_s=0.0).turbo


def made_start(index: int, *, apart: float, chance: random.Random) -> StartResult:
    """Make a process start of a millisecond whose level differs from the others' by up to a share."""
    level = 1e6 * (1 + apart * chance.random())
    rounds = tuple(
        Round(process=index, samples_ns=tuple(level * (1 + 0.001 * chance.random()) for _ in range(30)))
        for _ in range(2)
    )
    return StartResult(rounds=rounds, iterations=30, inner_loops=1, total_rounds=2, tick_ns=40.0, stop="done")


def test_starts_that_differ_more_hide_larger_changes() -> None:
    chance = random.Random(5)
    steady, apart = (
        compare_halves([made_start(index, apart=share, chance=chance) for index in range(16)]) for share in (0.001, 0.2)
    )

    assert steady.detectable_pct is not None
    assert steady.detectable_pct < 1.0
    assert apart.detectable_pct is None or apart.detectable_pct > 5.0


def test_pairs_are_measured_while_there_is_time_and_not_without_end() -> None:
    begun: list[int] = []

    def start(index: int) -> StartResult:
        begun.append(index)
        return made_start(index, apart=0.0, chance=random.Random(index))

    assert len(list(alternate(start, lambda pairs: pairs < 4))) == 8
    assert begun == list(range(8))
    assert len(list(alternate(start, lambda _: False))) == 6
    assert len(list(alternate(start, lambda _: True))) == 24


def test_findings_fit_into_every_width_and_into_json() -> None:
    findings = list(examine_host(HostFacts(smt=True), with_fields(QUIET, cpu_pct=50.0), clock_step_ns=40.0))
    trials = {
        "as it is": Trial(starts=3, delta_pct=-0.4, detectable_pct=2.25),
        "bound": Trial(starts=3, delta_pct=1, detectable_pct=None),
    }

    for width in (60, 80, 200):
        text = render(findings, trials, width=width)
        assert max(map(len, text.splitlines())) <= width
        assert "bad   load: " in text
    assert "The smallest slowdown that can be seen here now is 2.2 %." in render(findings, trials, width=400)
    good = next(line for line in render(findings, {}, width=4000).splitlines() if line.startswith("good: "))
    assert all(f"{each.check}: {each.found}" in good for each in findings if each.grade == "good")
    document = as_document("a machine", findings, trials)
    assert document["findings"][0]["check"] == "load"
    assert document["trials"][1] == {"how": "bound", "starts": 3, "delta_pct": 1, "detectable_pct": None}

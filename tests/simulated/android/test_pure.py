"""What is decided about phones without one."""

from __future__ import annotations

import doctest
import importlib
from dataclasses import replace

import pytest

from pytest_devperf.errors import UsageError
from pytest_devperf.sensor.android.battery import BatteryReading
from pytest_devperf.sensor.android.clock import ClockReading
from pytest_devperf.sensor.android.power import PowerReading
from pytest_devperf.sensor.android.thermal import ThermalReading
from pytest_devperf.targets.android.adb.attached import STATES, Attached, choose, demand
from pytest_devperf.targets.android.app import NOT_STARTED
from pytest_devperf.targets.android.open import NoUsablePhone, open_target
from pytest_devperf.targets.android.phone.file_store import parse_listing
from pytest_devperf.targets.android.phone.identity import unit_of_serials
from pytest_devperf.targets.android.phone.lease import Holder, parse_holder
from pytest_devperf.targets.android.phone.limits import Limits, hold, parse_limits
from pytest_devperf.targets.android.phone.pin import judge_pin
from pytest_devperf.targets.android.phone.reading import (
    IDLE,
    SCRIPT,
    PhoneReading,
    Reference,
    cpu_percent,
    most_used_mb,
    parse_sensors,
    reference_of,
    throttles,
)
from pytest_devperf.targets.android.phone.sensors import Extremes
from pytest_devperf.targets.android.phone.undo_journal import Changes, format_changes, mine, parse_changes
from pytest_devperf.targets.android.tools.script import parse_end
from pytest_devperf.targets.cpus import parse_cpus


@pytest.fixture(autouse=True)
def no_phone_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANDROID_SERIAL", raising=False)


def seen(max_khz: int | None, status: int | None = 0, least: int = 300) -> PhoneReading:
    return PhoneReading(
        thermal=ThermalReading(state="unknown" if status is None else "value", status=status),
        battery=BatteryReading(state="unknown"),
        clocks=ClockReading(state="unknown")
        if max_khz is None
        else ClockReading(state="value", min_khz={"policy0": least}, max_khz={"policy0": max_khz}),
        power=PowerReading(state="unknown"),
    )


def phone(serial: str = "A1", state: str = "device", model: str = "Pixel_8") -> Attached:
    return Attached(serial=serial, state=state, model=model)


@pytest.mark.parametrize(
    "module",
    [
        "targets.cpus",
        "targets.android.tools.script",
        *(
            f"targets.android.phone.{name}"
            for name in ("identity", "undo_journal", "lease", "limits", "reading", "work_folder", "file_store")
        ),
    ],
)
def test_examples_in_docstrings_hold(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"pytest_devperf.{module}"))

    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("status", "khz", "verdict"),
    [
        (0, 2000, False),
        (1, 2000, True),
        (0, 1500, True),
        (None, 1500, True),
        (None, 2000, None),
        (0, None, False),
        (None, None, None),
    ],
)
def test_throttling_is_reported_by_the_phone_or_shown_by_a_lower_cap(
    status: int | None, khz: int | None, verdict: bool | None
) -> None:
    assert throttles(seen(khz, status), Reference(max_khz={"policy0": 2000})) is verdict


@pytest.mark.parametrize(
    ("name", "value", "verdict"),
    [("thermal-cpufreq-0", 3, True), ("thermal-cpufreq-0", 100, False), ("modem", 900, False), ("battery", 900, False)],
)
def test_a_processors_cooling_device_that_does_more_than_at_the_start_is_throttling(
    name: str, value: int, verdict: bool
) -> None:
    def look(now: int) -> PhoneReading:
        thermal = ThermalReading(state="value", status=0, cooling={name: now})
        return replace(seen(2000), thermal=thermal)

    begun = 100 if value == 100 else 1

    assert throttles(look(value), reference_of(look(begun))) is verdict


def held(before: PhoneReading, first: PhoneReading, second: PhoneReading) -> bool:
    return bool(judge_pin(before, first, second, "X").held)


def why_not(before: PhoneReading, first: PhoneReading, second: PhoneReading) -> str:
    return judge_pin(before, first, second, "X").why_not or ""


def test_clocks_are_held_by_a_cap_that_appeared_and_stayed() -> None:
    assert held(seen(2000), seen(1500), seen(1500))
    assert "does nothing" in why_not(seen(2000), seen(2000), seen(2000))
    assert "does nothing" in why_not(seen(1500), seen(2000), seen(2000))
    assert "releases" in why_not(seen(2000), seen(1500), seen(2000))
    assert "does not show its clocks" in why_not(seen(None), seen(None), seen(None))


def test_clocks_are_pinned_by_a_floor_that_rose_to_the_cap_even_if_the_cap_rose_too() -> None:
    fixed, boosted = seen(1800, least=1800), seen(1800, least=900)

    assert held(seen(1200), fixed, fixed)
    assert not held(seen(1200), boosted, boosted)


@pytest.mark.parametrize("warm", range(3))
def test_a_cap_that_heat_may_explain_is_no_proof_whichever_look_was_warm(warm: int) -> None:
    looks = [seen(khz, status=2 if index == warm else 0) for index, khz in enumerate((2000, 1500, 1500))]

    assert "throttles" in why_not(*looks)


def test_a_cooling_device_that_works_harder_explains_a_cap_without_a_status() -> None:
    busy = ThermalReading(state="value", status=0, cooling={"thermal-cpufreq-0": 3})
    idle = ThermalReading(state="value", status=0, cooling={"thermal-cpufreq-0": 0})
    looks = [replace(seen(khz), thermal=thermal) for khz, thermal in ((2000, idle), (1500, busy), (1500, busy))]

    assert "throttles" in why_not(*looks)


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        (Limits(1500, 1500), True),
        (Limits(1200, 1200), True),  # pressed down by heat, floor and cap together
        (Limits(300, 1800), False),
        (Limits(300, 1500), False),
        (Limits(300, 1200), False),  # an idle default below what was held
    ],
)
def test_pinned_limits_count_as_released_once_the_cap_rises_or_the_floor_drops(now: Limits, verdict: bool) -> None:
    assert hold({"policy0": Limits(1500, 1500)}, {"policy0": now}) is verdict
    assert hold({"policy0": Limits(1500, 1500)}, {}) is None


def test_a_look_that_was_cut_off_is_none() -> None:
    whole = "".join(f"@@{name}\n@@rc 0\n" for name in ("thermal", "battery", "clocks")) + "@@END\n"

    assert parse_sensors(whole) is not None
    assert all(parse_sensors(whole[:length]) is None for length in range(len(whole) - len("@@END\n")))


def test_the_look_fits_into_what_the_oldest_phones_take() -> None:
    for script in (SCRIPT, IDLE):
        assert len(script.encode()) < 4096 - 200  # a payload of theirs, and the frame around a script


def test_one_phone_is_chosen_and_emulators_are_not() -> None:
    emulators = (phone("emulator-5554"), phone("127.0.0.1:1", model="sdk_gphone64_x86_64"))

    assert choose((phone(), *emulators), None) == phone()
    assert choose(emulators, None) is None
    assert demand(emulators[:1]) == emulators[0]


@pytest.mark.parametrize("state", sorted(STATES))
def test_every_other_state_shows_the_next_step(state: str) -> None:
    assert choose((phone(state=state),), None) is None
    with pytest.raises(UsageError, match="Pixel 8 "):
        demand((phone(state=state),))


@pytest.mark.parametrize("state", sorted(STATES))
def test_auto_shows_why_it_uses_no_phone_although_one_is_attached(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.open.may_find_phones", lambda _: True)
    monkeypatch.setattr("pytest_devperf.targets.android.open.list_attached", lambda _: (phone(state=state),))

    with pytest.raises(NoUsablePhone, match="Pixel 8 "):
        open_target("auto")


def test_auto_reports_that_the_adb_server_returns_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> tuple[Attached, ...]:
        raise UsageError("the adb server does not list its phones (protocol fault)", "see that `adb devices` works")

    monkeypatch.setattr("pytest_devperf.targets.android.open.may_find_phones", lambda _: True)
    monkeypatch.setattr("pytest_devperf.targets.android.open.list_attached", fail)

    with pytest.raises(NoUsablePhone, match="adb server does not list its phones"):
        open_target("auto")


@pytest.mark.parametrize("attached", [(), (phone("emulator-5554", model="sdk_gphone64"),)])
def test_auto_reports_nothing_if_no_phone_is_attached(
    attached: tuple[Attached, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_devperf.targets.android.open.may_find_phones", lambda _: True)
    monkeypatch.setattr("pytest_devperf.targets.android.open.list_attached", lambda _: attached)

    assert open_target("auto") is None


def test_without_a_phone_the_error_shows_how_to_attach_one() -> None:
    with pytest.raises(UsageError, match="USB debugging"):
        demand(())


HOLDER = Holder(pid=12, start_ticks=3456, boot="0f1c-2")


@pytest.mark.parametrize(
    "changes",
    [
        Changes(),
        mine(HOLDER, pinned=False, stay_on="7"),
        replace(mine(HOLDER, pinned=True, stay_on="null"), held={"policy0": Limits(300, 1500)}),
        replace(mine(replace(HOLDER, boot=""), pinned=True, stay_on=None), host="0123456789ab"),
    ],
)
def test_a_journal_survives_being_written(changes: Changes) -> None:
    assert parse_changes(format_changes(changes).replace("\n", "\r\n")) == changes


@pytest.mark.parametrize("value", ["7; reboot", "$(reboot)", "-1", "12345"])
@pytest.mark.parametrize("key", ["stay_on", "holder", "held", "pid"])
def test_a_journal_cannot_bring_a_command(key: str, value: str) -> None:
    changes = parse_changes(f"pinned=false\n{key}={value}\n")

    assert changes is not None
    assert changes == Changes(pid=changes.pid)


@pytest.mark.parametrize("digit", ["\u0663", "\uff13", "\u00b2"], ids=["Arabic", "full width", "superscript"])
def test_a_phones_numbers_are_in_ascii_digits(digit: str) -> None:
    assert parse_limits(f"policy{digit}:300-1800 policy0:{digit}-1800 policy0:300-{digit}") == {}
    assert parse_holder(f"{digit} 1234567 0f1c") is None
    assert parse_holder(f"4711 {digit} 0f1c") is None
    assert parse_changes(
        f"pinned=true\nstay_on={digit}\npid={digit}\nholder={digit} 1 a\nheld=policy0:300-{digit}\n"
    ) == Changes(pinned=True)
    assert parse_listing(f"now {digit}\n{digit} 12 {'a' * 64}\n") == (None, ())


def test_an_end_that_was_cut_off_is_none() -> None:
    assert (
        parse_end("5\n@@times\n0m0.00s 0m0.00s\n0m1.00s 0m0.00s\n@@sampled\npolicy0 1500 policy4\n@@rc 0") is not None
    )
    assert parse_end("5\n@@times\n0m0.00s") is None


def test_samples_and_the_peak_are_parsed_if_present() -> None:
    ended = parse_end("@@times\nx\ny\n@@sampled\npolicy0 1500 policy4  free 2048\n@@peak 12\n@@rc 3\n")

    assert ended is not None
    assert ended.extremes == Extremes(caps_khz={"policy0": 1500}, free_bytes=2048 * 1024)
    assert (ended.peak_bytes, ended.cpu_ns, ended.returncode) == (12288, None, 3)


def load_line(busy: int, idle: int) -> str:
    return f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0"


def look_at(**answers: str) -> PhoneReading:
    text = "".join(f"@@{name}\n{answer}\n@@rc 0\n" for name, answer in answers.items()) + "@@END\n"
    parsed = parse_sensors(text)
    assert parsed is not None
    return parsed


def test_use_between_two_looks_leaves_out_what_the_looks_themselves_cost() -> None:
    before = look_at(load=load_line(100, 100), load_after=load_line(180, 120))
    after = look_at(load=load_line(190, 150), load_after=load_line(300, 160))

    assert cpu_percent(after, before) == 25.0
    assert cpu_percent(after, None) is None


def test_an_idle_sample_counts_for_itself_whatever_was_before() -> None:
    before = look_at(load_after=load_line(0, 0))
    after = look_at(idle=load_line(100, 100), load=load_line(104, 296))

    assert cpu_percent(after, before) == 2.0


@pytest.mark.parametrize(
    ("least_free_mb", "used_mb"), [(None, 400.0), (500, 500.0), (700, 400.0)], ids=["unknown", "sampled", "after"]
)
def test_most_memory_in_use_is_sampled_or_seen_after_the_run(least_free_mb: int | None, used_mb: float) -> None:
    look = look_at(memory="MemTotal: 976563 kB\nMemAvailable: 585938 kB")

    least = None if least_free_mb is None else least_free_mb * 10**6
    assert most_used_mb(look, least) == pytest.approx(used_mb, abs=0.2)


def test_a_serial_number_cannot_be_read_from_the_unit() -> None:
    unit = unit_of_serials("R58M123ABC\n")

    assert unit is not None
    assert unit == unit_of_serials("r58m123abc\nR58M123ABC\n")
    assert unit != unit_of_serials("R58M123ABD\n")
    assert "r58m" not in unit
    assert unit_of_serials("\nunknown\n") is None


@pytest.mark.parametrize("spec", ["", "x", "0-", "3-1", "8", "big"])
def test_cpus_that_are_not_there_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="--devperf-affinity"):
        parse_cpus(spec, {}, 8)


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        ("Starting: Intent { cmp=com.example.Error/.ErrorActivity }", False),
        ("Warning: Activity not started, its current task has been brought to the front", False),
        ("Starting: Intent { cmp=a/.B }\nError type 3\nError: Activity class {a/.B} does not exist.", True),
        ("Starting: Intent { cmp=a/.B }\r\nError: Activity not started, unable to resolve Intent", True),
    ],
)
def test_am_reports_a_failed_start_only_by_a_line(line: str, failed: bool) -> None:
    assert bool(NOT_STARTED.search(line)) is failed

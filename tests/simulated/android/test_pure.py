"""What is decided about phones without one."""

from __future__ import annotations

import doctest
import importlib
from dataclasses import replace

import pytest

from pytest_devperf.errors import UsageError
from pytest_devperf.sensor.battery import BatteryReading
from pytest_devperf.sensor.clock import ClockReading
from pytest_devperf.sensor.power import PowerReading
from pytest_devperf.sensor.thermal import ThermalReading
from pytest_devperf.target.android.adb import STATES, Attached, choose, demand
from pytest_devperf.target.android.identity import hash_unit
from pytest_devperf.target.android.look import SCRIPT, Seen, Start, parse_look, start_of, throttles
from pytest_devperf.target.android.note import Note, format_note, mine, parse_note
from pytest_devperf.target.android.pin import why_not_pinned
from pytest_devperf.target.android.script import parse_end
from pytest_devperf.target.cpus import parse_cpus


def seen(max_khz: int | None, status: int | None = 0) -> Seen:
    return Seen(
        thermal=ThermalReading(state="unknown" if status is None else "value", status=status),
        battery=BatteryReading(state="unknown"),
        clocks=ClockReading(state="unknown")
        if max_khz is None
        else ClockReading(state="value", max_khz={"policy0": max_khz}),
        power=PowerReading(state="unknown"),
    )


def phone(serial: str = "A1", state: str = "device", model: str = "Pixel_8") -> Attached:
    return Attached(serial=serial, state=state, model=model)


@pytest.mark.parametrize("module", ["affinity", "script", "identity", "look", "note", "place"])
def test_examples_in_docstrings_hold(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"pytest_devperf.target.android.{module}"))

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
def test_throttling_is_what_the_phone_says_or_a_lower_cap(
    status: int | None, khz: int | None, verdict: bool | None
) -> None:
    assert throttles(seen(khz, status), Start(max_khz={"policy0": 2000})) is verdict


@pytest.mark.parametrize(
    ("name", "value", "verdict"),
    [("thermal-cpufreq-0", 3, True), ("thermal-cpufreq-0", 100, False), ("modem", 900, False), ("battery", 900, False)],
)
def test_a_processors_cooling_device_that_does_more_than_at_the_start_is_throttling(
    name: str, value: int, verdict: bool
) -> None:
    def look(now: int) -> Seen:
        thermal = ThermalReading(state="value", status=0, cooling={name: now})
        return replace(seen(2000), thermal=thermal)

    begun = 100 if value == 100 else 1

    assert throttles(look(value), start_of(look(begun))) is verdict


def test_a_cap_counts_as_pinned_only_where_heat_does_not_explain_it() -> None:
    assert why_not_pinned(seen(2000), seen(1500), "X") is None
    assert "does nothing" in (why_not_pinned(seen(2000), seen(2000), "X") or "")
    assert "throttles" in (why_not_pinned(seen(2000), seen(1500, status=2), "X") or "")
    assert "does not show its clocks" in (why_not_pinned(seen(None), seen(None), "X") or "")


def test_a_look_that_was_cut_off_is_none() -> None:
    whole = "".join(f"@@{name}\n@@rc 0\n" for name in ("thermal", "battery", "clocks")) + "@@END\n"

    assert parse_look(whole) is not None
    assert all(parse_look(whole[:length]) is None for length in range(len(whole) - len("@@END\n")))


def test_the_look_fits_into_what_the_oldest_phones_take() -> None:
    assert len(SCRIPT.encode()) < 4096 - 200  # a payload of theirs, and the frame around a script


def test_one_phone_is_chosen_and_emulators_are_not() -> None:
    emulators = (phone("emulator-5554"), phone("127.0.0.1:1", model="sdk_gphone64_x86_64"))

    assert choose((phone(), *emulators), None) == phone()
    assert choose(emulators, None) is None
    assert demand(emulators[:1]) == emulators[0]


@pytest.mark.parametrize("state", sorted(STATES))
def test_every_other_state_says_what_to_do(state: str) -> None:
    assert choose((phone(state=state),), None) is None
    with pytest.raises(UsageError, match="Pixel 8 "):
        demand((phone(state=state),))


def test_no_phone_at_all_says_how_to_attach_one() -> None:
    with pytest.raises(UsageError, match="USB debugging"):
        demand(())


@pytest.mark.parametrize("note", [Note(), mine(pinned=True, stay_on="null"), mine(pinned=False, stay_on="7")])
def test_a_note_survives_being_written(note: Note) -> None:
    assert parse_note(format_note(note).replace("\n", "\r\n")) == note


@pytest.mark.parametrize("value", ["7; reboot", "$(reboot)", "-1", "12345"])
def test_a_note_cannot_bring_a_command(value: str) -> None:
    note = parse_note(f"pinned=false\nstay_on={value}\n")

    assert note is not None
    assert note.stay_on is None


def test_an_end_that_was_cut_off_is_none() -> None:
    assert parse_end("5\n@@times\n0m0.00s 0m0.00s\n0m1.00s 0m0.00s\n@@caps\npolicy0 1500 policy4\n@@rc 0") is not None
    assert parse_end("5\n@@times\n0m0.00s") is None


def test_caps_and_peak_are_read_where_they_are() -> None:
    ended = parse_end("@@times\nx\ny\n@@caps\npolicy0 1500 policy4 \n@@peak 12\n@@rc 3\n")

    assert ended is not None
    assert (ended.caps_khz, ended.peak_bytes, ended.cpu_ns, ended.returncode) == ({"policy0": 1500}, 12288, None, 3)


def test_a_serial_number_cannot_be_read_from_the_unit() -> None:
    unit = hash_unit("R58M123ABC\n")

    assert unit is not None
    assert unit == hash_unit("r58m123abc\nR58M123ABC\n")
    assert unit != hash_unit("R58M123ABD\n")
    assert "r58m" not in unit
    assert hash_unit("\nunknown\n") is None


@pytest.mark.parametrize("spec", ["", "x", "0-", "3-1", "8", "big"])
def test_cpus_that_are_not_there_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="--devperf-affinity"):
        parse_cpus(spec, {}, 8)

"""Sensors that plugins add: every reading is a temperature, not known, or a note with the reason."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pytest_devperf.errors import TargetError, UsageError
from pytest_devperf.sensor.added import merge_sensors, read_sensors
from pytest_devperf.sensor.context import Context

SEEN = Context(at_ns=1, temp_c=40.0, notes=("battery: no answer",))


def _ask(command: str) -> str:
    return {"room": "21.5"}[command]


@pytest.mark.parametrize(
    ("value", "celsius"), [(41, 41.0), (np.float32(41.5), 41.5), (Fraction(83, 2), 41.5), (-3.0, -3.0)]
)
def test_every_kind_of_number_is_a_temperature(value: object, celsius: float) -> None:
    seen = read_sensors(SEEN, {"mine": lambda _: value}, _ask)
    assert (seen.sensors_c, seen.notes) == ({"mine": celsius}, SEEN.notes)


def test_what_is_not_known_is_left_out() -> None:
    assert read_sensors(SEEN, {"mine": lambda _: None}, _ask) == SEEN


@pytest.mark.parametrize("value", ["41", True, float("nan"), float("inf"), 10**400, [41.0], object()])
def test_anything_else_is_no_temperature(value: object) -> None:
    seen = read_sensors(SEEN, {"mine": lambda _: value, "room": lambda shell: float(shell("room"))}, _ask)
    assert seen.sensors_c == {"room": 21.5}
    assert seen.notes[0] == "battery: no answer"
    assert seen.notes[1].startswith("sensor mine: ")


class Unspeakable(Exception):
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (ValueError("no number"), "sensor mine: ValueError('no number')"),
        (TargetError("the rack is off", "switch it on"), "sensor mine: the rack is off: switch it on"),
        (Unspeakable(), "sensor mine: a value of type Unspeakable"),
    ],
)
def test_an_error_is_noted_in_its_own_words(error: Exception, note: str) -> None:
    def read(_: object) -> float:
        raise error

    assert read_sensors(SEEN, {"mine": read}, _ask).notes == (*SEEN.notes, note)


def test_a_long_reason_is_cut_to_one_line() -> None:
    (note,) = read_sensors(Context(at_ns=1), {"mine": lambda _: "4\n" * 10_000}, _ask).notes
    assert len(note) <= 160
    assert "\n" not in note


def test_the_first_answer_counts_for_a_name_that_comes_twice() -> None:
    merged = merge_sensors([{"room": lambda _: 1.0}, None, {"room": lambda _: 2.0, "rack": lambda _: 3.0}])
    assert read_sensors(SEEN, merged, _ask).sensors_c == {"room": 1.0, "rack": 3.0}


@pytest.mark.parametrize("answer", [[("room", len)], {1: len}, {"room": 21.5}, "room"])
def test_an_answer_that_is_no_mapping_of_functions_is_refused(answer: object) -> None:
    with pytest.raises(UsageError, match="return a dict: name -> function"):
        merge_sensors([answer])

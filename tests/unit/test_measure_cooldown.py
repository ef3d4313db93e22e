from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import pytest

from pytest_devperf.errors import UsageError
from pytest_devperf.measure.cooldown import Cooldown, Cooling, cool, parse_cooldown
from pytest_devperf.sensor.context import Context


@dataclass
class Tape:
    """A clock that moves only by sleeping."""

    now: int = 0

    def now_ns(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += round(seconds * 1e9)

    @property
    def now_s(self) -> float:
        return self.now / 1e9


def wait(
    temp_c: Callable[[float], float | None],
    *,
    mode: str = "auto",
    kind: str = "android",
    throttled: Callable[[float], bool | None] = lambda _: False,
    refresh_s: float = 0.0,
    from_s: float = 0.0,
    **bounds: float,
) -> list[Cooling]:
    """Wait on a device whose temperature is a function of the time, read from a thermometer that refreshes."""
    clock = Tape(now=round(from_s * 1e9))

    def look() -> Context:
        now_s = clock.now_s - from_s
        read_s = now_s // refresh_s * refresh_s if refresh_s else now_s
        return Context(at_ns=clock.now, temp_c=temp_c(read_s), throttled=throttled(now_s), charging=True)

    return list(cool(look, clock, mode=parse_cooldown(mode), kind=kind, **bounds))


def falling(at_s: float) -> float:
    """A battery that cools from 40 to 30 °C with a time constant of 100 s, in tenths."""
    return round(30 + 10 * math.exp(-at_s / 100), 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("auto", Cooldown(mode="auto")),
        ("OFF", Cooldown(mode="off")),
        ("12.5", Cooldown(mode="seconds", seconds=12.5)),
        ("temp=37", Cooldown(mode="temp", temp_c=37.0)),
    ],
)
def test_a_cooldown_is_a_word_a_number_or_a_temperature(text, expected) -> None:
    assert parse_cooldown(text) == expected


@pytest.mark.parametrize("text", ["", "soon", "-1", "nan", "inf", "temp=", "temp=warm", "heat=3"])
def test_anything_else_is_refused_with_the_valid_values(text) -> None:
    with pytest.raises(UsageError, match="use auto, off"):
        parse_cooldown(text)


def test_off_looks_at_nothing() -> None:
    assert wait(falling, mode="off") == []


def test_a_phone_waits_until_its_temperature_has_stopped_falling() -> None:
    steps = wait(falling)
    last = steps[-1]
    assert last.done
    assert not last.timed_out
    assert last.slope_c_per_min is not None
    assert last.slope_c_per_min > -0.2
    assert last.temp_c == pytest.approx(30.3, abs=0.2)


def test_the_last_two_looks_are_settled_and_no_two_before_them() -> None:
    steps = [step.settled for step in wait(falling)]
    assert steps[-2:] == [True, True]
    assert (True, True) not in pairwise(steps[:-1])


@pytest.mark.parametrize("refresh_s", [10.0, 30.0, 60.0])
def test_a_thermometer_between_two_refreshes_is_no_plateau(refresh_s) -> None:
    last = wait(falling, refresh_s=refresh_s)[-1]
    assert last.temp_c is not None
    assert last.temp_c < 30.7


def test_a_cold_phone_waits_at_least_for_the_floor_and_a_window() -> None:
    steps = wait(lambda _: 25.0, floor_s=30.0)
    assert 60 <= steps[-1].waited_s <= 70
    assert wait(lambda _: 25.0, floor_s=120.0)[-1].waited_s >= 120


def test_three_distinct_reads_stand_for_a_window() -> None:
    reads = {0: 30.0, 10: 30.1, 20: 30.0}
    last = wait(lambda at_s: reads.get(int(at_s // 10 * 10), 30.1), floor_s=0.0)[-1]
    assert last.waited_s < 60


def test_the_third_distinct_read_is_the_first_that_can_settle() -> None:
    reads = {0: 30.0, 10: 30.1, 20: 30.0}
    steps = wait(lambda at_s: reads.get(int(at_s // 10 * 10), 30.1), floor_s=0.0)
    assert [(step.waited_s, step.settled) for step in steps] == [
        (0.0, False), (5.0, False), (10.0, False), (15.0, False), (20.0, True), (25.0, True),
    ]  # fmt: skip


def test_a_phone_that_goes_on_cooling_is_measured_at_the_ceiling_with_a_caution() -> None:
    last = wait(lambda at_s: 60 - at_s / 20, ceiling_s=300.0)[-1]
    assert (last.done, last.timed_out, last.waited_s) == (True, True, 300.0)


def test_a_phone_that_throttles_has_not_settled() -> None:
    steps = wait(lambda _: 30.0, throttled=lambda at_s: at_s < 200)
    assert not any(step.settled for step in steps if step.waited_s < 200)
    assert steps[-1].waited_s >= 200


def test_a_phone_without_a_thermometer_waits_for_a_window() -> None:
    last = wait(lambda _: None)[-1]
    assert (last.temp_c, last.slope_c_per_min) == (None, None)
    assert 60 <= last.waited_s <= 70


def test_a_host_that_does_not_throttle_waits_for_nothing() -> None:
    (step,) = wait(falling, kind="host")
    assert (step.waited_s, step.done) == (0.0, True)


def test_a_host_waits_while_it_throttles_up_to_the_ceiling() -> None:
    assert wait(falling, kind="host", throttled=lambda at_s: at_s < 12)[-1].waited_s == 15
    last = wait(falling, kind="host", throttled=lambda _: True, ceiling_s=42.0)[-1]
    assert (last.waited_s, last.timed_out) == (42.0, True)


def test_unknown_throttling_is_not_throttling() -> None:
    assert len(wait(falling, kind="host", throttled=lambda _: None)) == 1


@pytest.mark.parametrize("kind", ["host", "android"])
def test_seconds_are_waited_whatever_the_temperature_does(kind) -> None:
    steps = wait(falling, mode="12", kind=kind, from_s=1000.0)
    assert [step.waited_s for step in steps] == [0, 5, 10, 12]
    assert [step.left_s for step in steps] == [12, 7, 2, 0]
    assert [(step.settled, step.timed_out, step.done) for step in steps] == [
        *[(False, False, False)] * 3,
        (True, False, True),
    ]


def test_when_a_wait_begins_changes_nothing() -> None:
    assert wait(falling, from_s=5000.0) == wait(falling)


def test_a_temperature_that_is_just_reached_is_enough() -> None:
    assert [step.settled for step in wait(lambda _: 37.0, mode="temp=37")] == [True]


def test_no_second_is_a_wait_of_none() -> None:
    assert [(step.waited_s, step.done) for step in wait(falling, mode="0")] == [(0.0, True)]


def test_two_looks_make_a_slope_per_minute() -> None:
    slopes = [step.slope_c_per_min for step in wait(lambda at_s: 40 - at_s / 10, ceiling_s=10.0)]
    assert slopes == [None, pytest.approx(-6.0), pytest.approx(-6.0)]


@pytest.mark.parametrize(("fall_c_per_min", "settles"), [(0.201, False), (0.199, True)])
def test_a_fall_of_more_than_two_tenths_in_a_minute_is_no_plateau(fall_c_per_min, settles) -> None:
    last = wait(lambda at_s: 40 - fall_c_per_min * at_s / 60, ceiling_s=200.0)[-1]
    assert last.timed_out == (not settles)


def test_a_look_shows_whether_the_device_throttles() -> None:
    assert [step.throttled for step in wait(falling, kind="host", throttled=lambda at_s: at_s < 3)] == [True, False]


@pytest.mark.parametrize("text", ["heat=3", "3=temp", "temp=3=4"])
def test_the_message_quotes_the_input(text) -> None:
    with pytest.raises(UsageError, match=f"--devperf-cooldown: '{text}' is not a cooldown"):
        parse_cooldown(text)


def test_a_temperature_is_waited_for() -> None:
    last = wait(falling, mode="temp=37", kind="host")[-1]
    assert last.temp_c is not None
    assert last.temp_c <= 37
    assert 35 <= last.waited_s <= 45


def test_a_temperature_that_is_never_reached_ends_at_the_ceiling() -> None:
    last = wait(falling, mode="temp=20", ceiling_s=100.0)[-1]
    assert (last.timed_out, last.waited_s) == (True, 100.0)


def test_the_wait_can_be_shown_as_it_goes() -> None:
    steps = wait(falling, ceiling_s=900.0)
    assert [step.left_s for step in steps[:2]] == [900.0, 895.0]
    assert steps[4].slope_c_per_min == pytest.approx(-5.4, abs=0.3)
    assert steps[4].charging

"""Waiting for devices to cool stays within limits that were shown beforehand."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_devperf.case.plan import Plan
from pytest_devperf.sensor.context import Context
from pytest_devperf.session.devices import cooler
from pytest_devperf.session.devices.cooler import Cooler, bounds_words


@dataclass
class Device:
    """A phone whose time only passes by waiting; it throttles on request."""

    throttles: Callable[[float], bool]
    now_s: float = 0.0
    device: Any = field(default_factory=lambda: SimpleNamespace(kind="android"))

    def now_ns(self) -> int:
        return round(self.now_s * 1e9)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def look(self) -> Context:
        return Context(at_ns=self.now_ns(), temp_c=40.0, throttled=self.throttles(self.now_s))


def case(**plan: Any) -> Any:
    return SimpleNamespace(case=SimpleNamespace(plan=Plan(**plan)), retake_wait_s=0.0)


def waits(device: Device, act: Callable[[], object]) -> float:
    before_s = device.now_s
    act()
    return device.now_s - before_s


def test_examples_hold() -> None:
    assert doctest.testmod(cooler).failed == 0


def test_a_phone_that_cannot_cool_is_waited_for_once_and_then_but_shortly() -> None:
    phone = Device(throttles=lambda _: True)
    cools = Cooler(phone, lambda _: None)
    plan = Plan()

    times = [waits(phone, lambda: cools.before_pass(phone, plan)) for _ in range(4)]

    assert times == pytest.approx([900, 120, 120, 120])


def test_a_phone_that_did_not_cool_before_the_pass_is_not_waited_for_again_in_it() -> None:
    phone = Device(throttles=lambda _: True)
    cools = Cooler(phone, lambda _: None)
    entry = case()
    cools.before_pass(phone, entry.case.plan)

    assert waits(phone, lambda: cools.again(phone, entry)) == 0
    assert not cools.again(phone, entry)


def test_a_phone_that_cools_again_is_given_all_the_time_again() -> None:
    phone = Device(throttles=lambda at_s: at_s < 920)
    cools = Cooler(phone, lambda _: None)
    plan = Plan()
    cools.before_pass(phone, plan)
    cools.before_pass(phone, plan)
    phone.throttles = lambda _: False
    cools.before_pass(phone, plan)
    phone.throttles = lambda _: True

    assert waits(phone, lambda: cools.before_pass(phone, plan)) == pytest.approx(900)


def test_a_case_waits_one_bound_in_all_for_the_rounds_it_takes_again() -> None:
    phone = Device(throttles=lambda _: False)
    cools = Cooler(phone, lambda _: None)
    entry = case(cooldown_max=200.0)

    taken = []
    waited_s = waits(phone, lambda: taken.extend(cools.again(phone, entry) for _ in range(40)))

    assert waited_s <= 200
    assert taken[0]
    assert not taken[-1]
    assert waits(phone, lambda: cools.again(phone, case(cooldown_max=200.0))) > 0  # the next case has its own


def test_a_wait_in_vain_keeps_the_round() -> None:
    phone = Device(throttles=lambda _: True)
    entry = case(cooldown_max=100.0)

    assert not Cooler(phone, lambda _: None).again(phone, entry)
    assert entry.retake_wait_s == pytest.approx(100)


def test_without_a_cooldown_no_round_is_taken_again() -> None:
    phone = Device(throttles=lambda _: False)

    assert not Cooler(phone, lambda _: None).again(phone, case(cooldown="off"))


@pytest.mark.parametrize("throttles", [True, False])
def test_after_a_fixed_wait_a_round_is_taken_again_if_the_phone_has_cooled(throttles: bool) -> None:
    phone = Device(throttles=lambda _: throttles)
    entry = case(cooldown="60")

    assert Cooler(phone, lambda _: None).again(phone, entry) is not throttles
    assert entry.retake_wait_s == pytest.approx(60)


def test_a_fixed_wait_longer_than_what_is_left_is_not_begun() -> None:
    phone = Device(throttles=lambda _: False)
    entry = case(cooldown="60", cooldown_max=50.0)

    assert not Cooler(phone, lambda _: None).again(phone, entry)
    assert phone.now_s == 0


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(), "up to 900 s to cool before each pass, and up to 900 s a case"),
        (Plan(cooldown="60", cooldown_max=300.0), "60 s to cool before each pass, and up to 300 s a case"),
        (Plan(cooldown="off"), "no wait for a phone"),
    ],
)
def test_the_limits_are_shown_beforehand(plan: Plan, words: str) -> None:
    assert words in bounds_words(plan)

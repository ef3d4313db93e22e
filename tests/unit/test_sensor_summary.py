"""The summary of a run's looks."""

from __future__ import annotations

import pytest

from pytest_devperf.measure.round import Round
from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.run_context import RunContext
from pytest_devperf.sensor.summary import chain_looks, summarise, throttled_between, waited_percent


def look(at_ns: int = 0, **fields: object) -> Context:
    return Context(at_ns=at_ns, **fields)  # type: ignore[arg-type]  # the test names the fields


def burst(**fields: object) -> Round:
    return Round(process=0, samples_ns=(1.0,), **fields)  # type: ignore[arg-type]  # the test names the fields


def test_nothing_seen_is_nothing_known() -> None:
    assert summarise([], [], prerun=None) == RunContext()


def test_start_end_and_highest_temperature_are_kept() -> None:
    context = summarise(
        [look(temp_c=31.0), look(temp_c=44.0), look(temp_c=36.0)], [burst(temp_c=45.5), burst()], prerun=None
    )

    assert (context.temp_start_c, context.temp_end_c, context.temp_max_c) == (31.0, 36.0, 45.5)


@pytest.mark.parametrize(
    ("looks", "rounds", "throttled"),
    [
        ([look(), look()], [burst()], None),
        ([look(throttled=False), look()], [burst()], False),
        ([look(throttled=False), look(throttled=True), look(throttled=False)], [], True),
        ([look(throttle_count=3), look(throttle_count=3)], [], False),
        ([look(throttle_count=3), look(), look(throttle_count=4)], [], True),
        ([look(throttle_count=3)], [], None),
        ([look(throttled=False)], [burst(throttled=True)], True),
        ([look()], [burst(throttled=False)], False),
    ],
)
def test_any_sign_of_throttling_is_throttling(
    looks: list[Context], rounds: list[Round], throttled: bool | None
) -> None:
    assert summarise(looks, rounds, prerun=None).throttled is throttled


def test_a_counter_that_was_reset_did_not_rise() -> None:
    assert throttled_between([look(throttle_count=9), look(throttle_count=0)]) is False


def test_the_lowest_cap_of_each_policy_is_kept() -> None:
    looks = [look(max_khz={"policy0": 2000, "policy4": 3000}), look(max_khz={"policy0": 1500}), look()]

    assert summarise(looks, [], prerun=None).clock_state.max_khz == {"policy0": 1500, "policy4": 3000}


@pytest.mark.parametrize(
    ("pins", "pinned"), [([None, None], None), ([True, True], True), ([True, False], False), ([None, True], True)]
)
def test_clocks_are_pinned_only_if_they_always_were(pins: list[bool | None], pinned: bool | None) -> None:
    assert summarise([look(pinned=pin) for pin in pins], [], prerun=None).clock_state.pinned is pinned


def test_governors_and_plans_are_each_named_once() -> None:
    looks = [look(governor="walt,schedutil", power_plan="balanced"), look(governor="walt", power_plan="performance")]
    state = summarise(looks, [], prerun=None).clock_state

    assert (state.governor, state.power_plan) == ("walt,schedutil", "balanced,performance")


def test_a_moment_on_battery_makes_a_run_on_battery_and_is_noted() -> None:
    looks = [look(power_state="AC", battery_pct=80.0, charging=True), look(power_state="battery", battery_pct=79.0)]
    context = summarise(looks, [], prerun=None)

    assert (context.power_state, context.battery_pct, context.charging) == ("battery", 79.0, True)
    assert context.notes == ("power changed during the run: AC and battery",)


def test_rates_of_the_first_look_are_of_the_time_before() -> None:
    looks = [look(cpu_pct=99.0, pressure_cpu_pct=80.0, adapter_util_pct=70.0), look(cpu_pct=20.0), look(cpu_pct=40.0)]
    during = summarise(looks, [], prerun=None).during

    assert (during.mean_cpu_pct, during.peak_cpu_pct) == (30.0, 40.0)
    assert (during.pressure_cpu_pct, during.adapter_util_pct) == (None, None)


def test_stolen_time_is_kept_at_its_worst_and_noted() -> None:
    looks = [look(stolen_pct=99.0), look(stolen_pct=12.4), look(stolen_pct=3.0)]
    context = summarise(looks, [], prerun=None)

    assert context.during.stolen_pct == 12.4
    assert context.notes == ("the hypervisor gave up to 12 % of the CPU time to others",)


@pytest.mark.parametrize("stolen_pct", [None, 0.0, 5.0])
def test_little_stolen_time_is_not_noted(stolen_pct) -> None:
    assert summarise([look(), look(stolen_pct=stolen_pct)], [], prerun=None).notes == ()


def test_the_peaks_of_memory_are_kept() -> None:
    looks = [look(used_ram_mb=300.0, device_mem_local_mb=10.0), look(used_ram_mb=900.0), look(device_mem_shared_mb=5.0)]
    during = summarise(looks, [], prerun=None).during

    assert (during.peak_ram_mb, during.device_mem_local_mb, during.device_mem_shared_mb) == (900.0, 10.0, 5.0)


def test_the_wait_of_the_thread_is_that_of_the_worst_round() -> None:
    rounds = [burst(wall_ns=1000, waited_ns=20), burst(wall_ns=1000, waited_ns=360), burst(wall_ns=1000)]

    assert summarise([], rounds, prerun=None).during.waited_pct == 36.0


@pytest.mark.parametrize(("wall_ns", "waited_ns"), [(None, 5), (0, 5), (100, None)])
def test_a_wait_without_its_wall_time_is_unknown(wall_ns: int | None, waited_ns: int | None) -> None:
    assert waited_percent(burst(wall_ns=wall_ns, waited_ns=waited_ns)) is None


def test_the_idle_machine_is_remembered() -> None:
    context = summarise([look(cpu_pct=50.0)], [], prerun=look(cpu_pct=3.1, free_ram_mb=21440.0))

    assert (context.prerun_cpu_pct, context.prerun_free_ram_mb) == (3.1, 21440.0)


def test_facts_of_software_are_joined_and_an_unknown_one_hides_nothing() -> None:
    looks = [
        look(env={"os": "A", "driver": None}),
        look(env={"driver": "D 1", "ep": "CPU"}),
        look(env={"driver": None}),
    ]

    assert summarise(looks, [], prerun=None).env == {
        "os": "A",
        "driver": "D 1",
        "ep": "CPU",
        "sdk": None,
        "python": None,
    }


def test_an_anchor_counts_only_if_it_was_the_same_everywhere() -> None:
    assert summarise([look(anchor="k1"), look(), look(anchor="k1")], [], prerun=None).anchor == "k1"

    mixed = summarise([look(anchor="k1"), look(anchor="k2")], [], prerun=None)
    assert mixed.anchor is None
    assert len(mixed.notes) == 1


def test_one_faked_look_fakes_the_run_and_notes_come_once() -> None:
    context = summarise([look(notes=("no zone",)), look(faked=True, notes=("no zone", "no skin"))], [], prerun=None)

    assert context.faked
    assert context.notes == ("no zone", "no skin")


def test_the_rates_in_the_first_look_of_a_start_are_left_out() -> None:
    starts = [
        [look(cpu_pct=90.0, temp_c=30.0), look(cpu_pct=10.0)],
        [look(cpu_pct=80.0, pressure_cpu_pct=50.0, stolen_pct=60.0), look(cpu_pct=20.0)],
    ]

    context = summarise(chain_looks(starts), prerun=None)

    assert context.during.mean_cpu_pct == 15.0
    assert context.during.peak_cpu_pct == 20.0
    assert (context.during.pressure_cpu_pct, context.during.stolen_pct) == (None, None)
    assert context.temp_start_c == 30.0


def test_use_reported_by_rounds_counts_like_that_of_looks() -> None:
    rounds = [Round(process=0, samples_ns=(1.0,), cpu_pct=30.0, used_ram_mb=700.0)]

    during = summarise([look(), look(cpu_pct=10.0, used_ram_mb=500.0)], rounds, prerun=None).during

    assert (during.mean_cpu_pct, during.peak_cpu_pct, during.peak_ram_mb) == (20.0, 30.0, 700.0)

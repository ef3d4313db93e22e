from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf import stats
from pytest_devperf.case.plan import Plan
from pytest_devperf.errors import CaseError
from pytest_devperf.measure.loop import RoundHooks, enough, run_start, tidy
from pytest_devperf.measure.round import Earlier, Round, StartPlan, StartResult
from pytest_devperf.measure.warmup import seen_step
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.protocol import Memory, RoundContext


@dataclass
class Tape:
    """A clock that moves only by sleeping."""

    now: int = 0
    slept: list[float] = field(default_factory=list)

    def now_ns(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += round(seconds * 1e9)


@dataclass
class Device:
    """A runner whose calls take a function of the round's number."""

    call_ns: Callable[[int], float]
    load_ns: int | None = None
    anchors: list[int] = field(default_factory=list)
    calls: list[object] = field(default_factory=list)
    bursts: int = 0

    def run(self, iterations: int, inner_loops: int) -> list[float]:
        self.calls.append((iterations, inner_loops))
        value = self.call_ns(self.bursts)
        self.bursts += 1
        return [value] * iterations

    def anchor(self) -> int | None:
        self.calls.append("anchor")
        return self.anchors.pop(0) if self.anchors else None

    def memory(self, iterations: int) -> Memory | None:
        return None


@dataclass
class CoarseDevice(Device):
    """A runner that knows its clock's step, and cannot see less."""

    tick_ns: float = 1000.0

    def run(self, iterations: int, inner_loops: int) -> list[float]:
        seen = super().run(iterations, inner_loops)
        return [math.floor(value * inner_loops / self.tick_ns) * self.tick_ns / inner_loops for value in seen]


@dataclass
class Tool(Device):
    """A tool that warms itself."""

    warmed: list[int] = field(default_factory=list)

    def warm_up(self, iterations: int) -> None:
        self.warmed.append(iterations)


@dataclass
class Watched(Device):
    """A runner that reports the context of its round."""

    seen: RoundContext = field(default_factory=RoundContext)

    def round_context(self) -> RoundContext:
        return self.seen


@dataclass
class WatchedTool(Tool, Watched):
    """A tool whose bursts were watched."""


PLAN = Plan(warmup=3)
SHARE = StartPlan(process=0, rounds=4, total_rounds=12, processes=3, iterations=30, inner_loops=1)


def steady(call_ns: float) -> Callable[[int], float]:
    return lambda _burst: call_ns


def series(*values: float) -> Callable[[int], float]:
    """One burst of warm-up at the first value, then a round per value."""
    return lambda burst: values[max(0, burst - 1)]


def test_a_start_warms_up_unrecorded_and_takes_its_share_of_rounds() -> None:
    device = Device(steady(1_000_000))
    start_result = run_start(device, SHARE, PLAN, Tape())
    assert device.calls == [(3, 1), "anchor", (30, 1), "anchor", (30, 1), "anchor", (30, 1), "anchor", (30, 1)]
    assert [len(taken.samples_ns) for taken in start_result.rounds] == [30] * 4
    assert (start_result.stop, start_result.total_rounds, start_result.iterations, start_result.inner_loops) == (
        "done",
        12,
        30,
        1,
    )


def test_the_anchor_is_the_median_of_three_before_and_three_after_a_discarded_one() -> None:
    device = Device(steady(1_000_000), anchors=[10, 11, 12, 999, 13, 14, 15])
    start_result = run_start(device, replace(SHARE, rounds=1), PLAN, Tape())
    assert start_result.rounds[0].anchor_ns == 12.5
    assert device.calls == [(3, 1), *["anchor"] * 3, (30, 1), *["anchor"] * 4]


def test_without_an_anchor_none_is_recorded() -> None:
    device = Device(steady(1_000_000), anchors=[10] * 7)
    start_result = run_start(device, replace(SHARE, rounds=1), PLAN, Tape(), RoundHooks(use_anchor=False))
    assert start_result.rounds[0].anchor_ns is None
    assert "anchor" not in device.calls


def test_it_rests_between_rounds_and_not_before_the_first() -> None:
    clock = Tape()
    run_start(Device(steady(1_000_000)), SHARE, PLAN, clock, RoundHooks(rest_s=0.5))
    assert clock.slept == [0.5, 0.5, 0.5]


def test_each_round_is_reported_when_it_is_kept() -> None:
    shown = []
    start_result = run_start(Device(steady(1_000_000)), SHARE, PLAN, Tape(), RoundHooks(on_round=shown.append))
    assert tuple(shown) == start_result.rounds


def test_sensors_are_read_after_each_round_and_what_its_runner_knows_stands() -> None:
    looks = iter(
        Context(at_ns=0, temp_c=40.0 + at, max_khz={"policy0": 1_000_000, "policy4": 2_000_000 - at}) for at in range(9)
    )

    plain = run_start(Device(steady(1_000_000)), SHARE, PLAN, Tape(), RoundHooks(look=lambda: next(looks)))
    known = RoundContext(temp_c=50.0, clock_khz=3)
    watched = run_start(
        Watched(steady(1e6), seen=known), SHARE, PLAN, Tape(), RoundHooks(look=lambda: Context(at_ns=0))
    )

    assert [taken.temp_c for taken in plain.rounds] == [40.0, 41.0, 42.0, 43.0]
    assert [taken.clock_khz for taken in plain.rounds] == [2_000_000, 1_999_999, 1_999_998, 1_999_997]
    assert {(taken.temp_c, taken.clock_khz) for taken in watched.rounds} == {(50.0, 3)}


def test_a_rounds_witness_is_kept_with_it() -> None:
    seen = RoundContext(
        cpu_ns=5,
        wall_ns=7,
        waited_ns=1,
        slept=True,
        throttled=True,
        temp_c=40.0,
        clock_khz=1_900_000,
        also={"first_item": (1.0,)},
        values={"items": (3.0, "items", "higher")},
    )
    (taken,) = run_start(Watched(steady(1e6), seen=seen), replace(SHARE, rounds=1), PLAN, Tape()).rounds
    assert taken == Round(
        process=0,
        samples_ns=(1_000_000,) * 30,
        cpu_ns=5,
        wall_ns=7,
        waited_ns=1,
        slept=True,
        throttled=True,
        temp_c=40.0,
        clock_khz=1_900_000,
        also={"first_item": (1.0,)},
        values={"items": (3.0, "items", "higher")},
    )


def test_the_first_round_may_be_a_shorter_one_that_gets_the_workload_ready() -> None:
    start_result = run_start(Device(steady(1e6)), replace(SHARE, rounds=3, ready=10), PLAN, Tape())
    assert [len(taken.samples_ns) for taken in start_result.rounds] == [10, 30, 30]
    assert start_result.iterations == 30


def test_a_pass_that_is_certain_ends_the_rounds_after_the_third() -> None:
    start_result = run_start(Device(steady(1_000_000)), replace(SHARE, bound_ns=1_000_000), PLAN, Tape())
    assert (len(start_result.rounds), start_result.stop) == (3, "early-pass")


def test_rounds_of_earlier_starts_count_towards_an_early_pass() -> None:
    start_plan = replace(SHARE, process=1, earlier=Earlier(medians_ns=(2e6, 2e6), lowest_ns=2e6), bound_ns=1.5e6)
    start_result = run_start(Device(steady(1_000_000)), start_plan, PLAN, Tape())
    assert (len(start_result.rounds), start_result.stop) == (1, "early-pass")


def test_a_start_that_earlier_rounds_made_needless_measures_nothing() -> None:
    device = Device(steady(1_000_000))
    start_result = run_start(
        device,
        replace(SHARE, process=1, earlier=Earlier(medians_ns=(2e6, 1e6, 2e6), lowest_ns=1e6), bound_ns=1e6),
        PLAN,
        Tape(),
    )
    assert (start_result.rounds, start_result.stop, device.calls) == ((), "early-pass", [])


def test_a_start_that_measures_nothing_hands_on_what_was_planned() -> None:
    device = CoarseDevice(steady(1e6), tick_ns=50.0)
    for loops, kept in ((7, 7), (None, 1)):
        start_plan = replace(SHARE, rounds=0, inner_loops=loops)
        assert run_start(device, start_plan, PLAN, Tape()) == StartResult(
            rounds=(), iterations=30, inner_loops=kept, total_rounds=12, tick_ns=50.0, stop="done"
        )


def test_convergence_of_earlier_rounds_makes_a_start_needless_only_if_it_may_end_the_metric() -> None:
    start_plan = replace(SHARE, process=1, earlier=Earlier(medians_ns=(1e6,) * 5, lowest_ns=1e6))
    assert run_start(Device(steady(1e6)), replace(start_plan, converge=True), PLAN, Tape()).stop == "converged"
    start_result = run_start(Device(steady(1e6)), start_plan, PLAN, Tape())
    assert (len(start_result.rounds), start_result.stop) == (4, "done")


@pytest.mark.parametrize("anchors", [[10, 11, 12, 999, 13, 14, None], [10, 0], [10, -1], [10, 11, 12, 999, 0]])
def test_a_round_with_an_anchor_that_was_not_timed_has_none(anchors) -> None:
    device = Device(steady(1e6), anchors=anchors)
    assert run_start(device, replace(SHARE, rounds=1), PLAN, Tape()).rounds[0].anchor_ns is None


def test_an_anchor_of_a_nanosecond_is_one() -> None:
    device = Device(steady(1e6), anchors=[1] * 7)
    assert run_start(device, replace(SHARE, rounds=1), PLAN, Tape()).rounds[0].anchor_ns == 1


def test_a_fail_never_ends_the_rounds_early() -> None:
    start_result = run_start(Device(steady(9_000_000)), replace(SHARE, bound_ns=1e6), PLAN, Tape())
    assert (len(start_result.rounds), start_result.stop) == (4, "done")


def test_convergence_ends_the_rounds_once_the_fewest_are_done() -> None:
    start_plan = replace(SHARE, rounds=12, converge=True)
    start_result = run_start(Device(steady(1_000_000)), start_plan, PLAN, Tape())
    assert (len(start_result.rounds), start_result.stop) == (PLAN.min_rounds, "converged")


def test_restless_rounds_do_not_converge() -> None:
    device = Device(lambda burst: 1e6 if burst % 2 else 2e6)
    start_result = run_start(device, replace(SHARE, rounds=12, converge=True), PLAN, Tape())
    assert (len(start_result.rounds), start_result.stop) == (12, "done")


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -5.0])
def test_what_is_no_duration_is_refused_by_its_value(value) -> None:
    with pytest.raises(CaseError, match=f"round 2 of process start 1 gave a duration of {value:g} ns"):
        run_start(Device(series(1e6, value)), SHARE, PLAN, Tape())


def test_no_samples_are_refused() -> None:
    with pytest.raises(CaseError, match="gave no samples"):
        run_start(Device(steady(1e6)), replace(SHARE, iterations=0), PLAN, Tape())


def test_an_iteration_takes_at_least_a_thousand_steps_of_the_clock() -> None:
    device = CoarseDevice(steady(250.0), tick_ns=1000.0)
    start_result = run_start(device, replace(SHARE, inner_loops=None), PLAN, Tape())
    assert start_result.inner_loops == 5_000
    assert start_result.tick_ns == 1000.0
    assert start_result.rounds[0].samples_ns[0] == 250.0


def test_two_runs_of_the_same_code_agree_on_inner_loops() -> None:
    loops = {
        run_start(
            CoarseDevice(steady(call_ns), tick_ns=30.0), replace(SHARE, inner_loops=None), PLAN, Tape()
        ).inner_loops
        for call_ns in (440.0, 455.0, 470.0)
    }
    assert loops == {100}


def test_given_inner_loops_are_not_calibrated() -> None:
    device = CoarseDevice(steady(250_000.0), tick_ns=1000.0)
    assert run_start(device, replace(SHARE, inner_loops=7, fixed=True), PLAN, Tape()).inner_loops == 7


@dataclass
class Single(CoarseDevice):
    """A runner whose workload cannot be repeated within an iteration."""

    loops: bool = False


def test_a_workload_that_cannot_be_repeated_gets_one_call_per_iteration() -> None:
    device = Single(steady(250_000.0), tick_ns=1000.0)
    assert run_start(device, replace(SHARE, inner_loops=None), PLAN, Tape()).inner_loops == 1


# -- clocks that show little, nothing, or the impossible -----------------------------------------------


@pytest.mark.parametrize(("call_ns", "loops"), [(250.0, 1000), (450.0, 500), (90_000.0, 2), (30_000.0, 10), (2e5, 1)])
def test_batches_grow_no_further_than_needed(call_ns: float, loops: int) -> None:
    device = CoarseDevice(steady(call_ns), tick_ns=180.0)
    assert run_start(device, replace(SHARE, inner_loops=None, rounds=1), PLAN, Tape()).inner_loops == loops


def test_rounds_of_few_samples_pass_early_only_when_there_are_enough_of_them() -> None:
    start_plan = replace(SHARE, rounds=12, bound_ns=1e6)
    one_each = Device(steady(1e6))
    one_each.run = lambda _iterations, _loops: [1e6]  # type: ignore[method-assign]  # a tool that prints an average
    assert len(run_start(one_each, start_plan, PLAN, Tape()).rounds) == 5
    later = replace(start_plan, process=1, earlier=Earlier(medians_ns=(1e6,) * 4, lowest_ns=1e6, width=1))
    assert len(run_start(one_each, later, PLAN, Tape()).rounds) == 1
    assert (
        len(
            run_start(
                one_each, replace(later, earlier=Earlier(medians_ns=(1e6,) * 5, lowest_ns=1e6, width=1)), PLAN, Tape()
            ).rounds
        )
        == 0
    )


def test_a_slow_tool_that_prints_an_average_gets_enough_rounds_to_be_judged() -> None:
    tool = Tool(steady(30e9))
    tool.run = lambda _iterations, _loops: [30e9]  # type: ignore[method-assign]  # as above
    start_result = run_start(tool, replace(SHARE, rounds=12, processes=1), PLAN, Tape())
    assert start_result.total_rounds == 5


@dataclass
class Quantised(Device):
    """A runner whose clock has a step that it does not report."""

    step_ns: float = 1_000_000.0

    def run(self, iterations: int, inner_loops: int) -> list[float]:
        self.calls.append((iterations, inner_loops))
        value = self.call_ns(self.bursts) * inner_loops
        self.bursts += 1
        begins = [each * value + self.bursts * 0.37 * self.step_ns for each in range(iterations)]
        steps = [math.floor((begin + value) / self.step_ns) - math.floor(begin / self.step_ns) for begin in begins]
        return [each * self.step_ns / inner_loops for each in steps]


@pytest.mark.parametrize(
    ("call_ns", "loops"), [(300_000.0, 500), (1_700_000.0, 100), (40.0, 5 * 10**6), (200_000_000.0, 1)]
)
def test_an_observed_step_makes_batches_like_a_reported_one(call_ns: float, loops: int) -> None:
    start_result = run_start(
        Quantised(steady(call_ns)), replace(SHARE, inner_loops=None, rounds=1), replace(PLAN, max_time=1e9), Tape()
    )
    assert start_result.inner_loops == loops
    assert start_result.rounds[0].samples_ns[0] == pytest.approx(call_ns, rel=0.02)


def test_a_clock_of_single_nanoseconds_makes_no_batches_of_what_is_long() -> None:
    noisy = series(*[1_000_123.0, 1_050_456.0, 1_200_789.0, 1_000_124.0] * 3)
    start_result = run_start(Device(noisy), replace(SHARE, inner_loops=None), PLAN, Tape())
    assert start_result.inner_loops == 1


@given(st.lists(st.integers(1, 10**5), min_size=2).filter(lambda each: len(set(each)) > 1), st.integers(1, 10**9))
def test_a_seen_step_divides_every_duration_and_is_a_multiple_of_the_real_one(counts: list[int], step: int) -> None:
    seen = seen_step([count * step for count in counts])
    assert seen is None or (seen % step == 0 and all((count * step) % seen == 0 for count in counts))


def test_a_clock_that_never_moves_fails_its_case_and_reports_it() -> None:
    with pytest.raises(CaseError, match=r"the clock did not advance in 30,000,000 calls: check the clock"):
        run_start(Device(steady(0.0)), replace(SHARE, inner_loops=None), PLAN, Tape())


@pytest.mark.parametrize("tick_ns", [math.nan, math.inf, -1.0, 1e308])
def test_a_step_that_no_clock_has_is_refused(tick_ns: float) -> None:
    device = CoarseDevice(steady(1_000_000.0), tick_ns=tick_ns)
    device.run = Device(steady(1_000_000.0)).run
    for inner_loops in (None, 1):
        with pytest.raises(CaseError, match="the runner reports a clock step of"):
            run_start(device, replace(SHARE, inner_loops=inner_loops), PLAN, Tape())


@pytest.mark.parametrize("tick_ns", [None, 0.0])
def test_a_step_that_is_not_known_is_no_step(tick_ns: float | None) -> None:
    device = CoarseDevice(steady(1_000_000.0), tick_ns=tick_ns)
    device.run = Device(steady(1_000_000.0)).run
    assert run_start(device, replace(SHARE, inner_loops=None), PLAN, Tape()).inner_loops == 1


def test_a_tool_that_warms_itself_is_not_calibrated() -> None:
    tool = Tool(steady(1e6))
    start_result = run_start(tool, replace(SHARE, inner_loops=None), PLAN, Tape())
    assert (tool.warmed, start_result.inner_loops) == ([3], 1)
    assert [call for call in tool.calls if call != "anchor"] == [(30, 1)] * 4


def test_a_slow_tool_keeps_its_iterations_and_gets_fewer_rounds() -> None:
    start_result = run_start(Tool(steady(0.5e9)), replace(SHARE, inner_loops=None), PLAN, Tape())
    assert (start_result.total_rounds, len(start_result.rounds), start_result.iterations) == (4, 2, 30)


def test_the_wall_time_of_a_tool_and_the_rest_count_for_its_budget() -> None:
    tool = WatchedTool(steady(1e6), seen=RoundContext(wall_ns=8_000_000_000))
    assert run_start(tool, replace(SHARE, inner_loops=None), PLAN, Tape()).total_rounds == 7
    assert run_start(tool, replace(SHARE, inner_loops=None), PLAN, Tape(), RoundHooks(rest_s=2.0)).total_rounds == 6


def test_a_tool_that_is_too_slow_gets_its_fewest_rounds() -> None:
    tool = WatchedTool(steady(1e6), seen=RoundContext(wall_ns=40_000_000_000))
    assert run_start(tool, replace(SHARE, inner_loops=None), PLAN, Tape()).total_rounds == 3
    assert run_start(tool, replace(SHARE, inner_loops=None, total_rounds=2), PLAN, Tape()).total_rounds == 2


def test_later_starts_of_a_tool_keep_to_what_the_first_decided() -> None:
    tool = WatchedTool(steady(1e6), seen=RoundContext(wall_ns=40_000_000_000))
    start_result = run_start(
        tool, replace(SHARE, process=1, earlier=Earlier(medians_ns=(1e6,), lowest_ns=1e6)), PLAN, Tape()
    )
    assert (len(start_result.rounds), start_result.total_rounds, start_result.iterations) == (4, 12, 30)


def test_rests_are_part_of_the_budget() -> None:
    assert run_start(Device(steady(0.1e9)), SHARE, PLAN, Tape(), RoundHooks(rest_s=4.0)).iterations < 10


def test_a_slow_workload_gets_fewer_iterations_first() -> None:
    start_result = run_start(Device(steady(0.5e9)), SHARE, PLAN, Tape())
    assert (start_result.total_rounds, start_result.iterations) == (12, 9)
    assert len(start_result.rounds) == 4


def test_a_slower_one_gets_fewer_rounds_then() -> None:
    start_result = run_start(Device(steady(1.5e9)), SHARE, PLAN, Tape())
    assert (start_result.total_rounds, start_result.iterations) == (6, 5)
    assert len(start_result.rounds) == 2


def test_a_case_that_cannot_fit_shows_the_budget_it_needs() -> None:
    device = Device(steady(4e9))
    start_result = run_start(device, SHARE, PLAN, Tape())
    assert (start_result.stop, start_result.rounds, start_result.needs_s) == ("too-slow", (), 96.0)
    again = run_start(device, SHARE, replace(PLAN, max_time=96.0), Tape())
    assert (again.stop, again.total_rounds, again.iterations) == ("done", 3, 5)


def test_fewer_rounds_than_process_starts_are_taken_by_the_first_of_them() -> None:
    start_plan = replace(SHARE, rounds=2, processes=6)
    start_result = run_start(Device(steady(1.4e9)), start_plan, PLAN, Tape())
    assert (start_result.total_rounds, len(start_result.rounds)) == (4, 1)


def test_a_start_that_only_calibrates_takes_no_more_rounds_because_the_budget_is_short() -> None:
    start_plan = replace(SHARE, rounds=1, total_rounds=60, processes=12)
    start_result = run_start(Device(steady(0.3e9)), start_plan, PLAN, Tape())
    assert (start_result.total_rounds, len(start_result.rounds)) == (
        32,
        1,
    )  # 32 rounds are three for the first of 12 starts


def test_the_cost_of_loads_is_part_of_the_budget() -> None:
    slow_load = Device(steady(0.1e9), load_ns=15_000_000_000)
    assert run_start(slow_load, SHARE, PLAN, Tape()).iterations < 30


def test_an_untimed_setup_is_part_of_the_budget() -> None:
    device = Watched(steady(1e6), seen=RoundContext(wall_ns=3_000_000_000))
    assert run_start(device, SHARE, PLAN, Tape()).iterations == 4 + 1  # a second each, so the fewest


def test_code_that_became_far_slower_than_its_baseline_is_measured_all_the_same() -> None:
    start_plan = replace(SHARE, iterations=30, fixed=True, bound_ns=1e8)
    start_result = run_start(Device(steady(2e9)), start_plan, PLAN, Tape())
    assert (start_result.stop, start_result.total_rounds, start_result.iterations) == ("done", 3, 30)


def test_later_starts_keep_to_what_the_first_decided() -> None:
    start_plan = replace(
        SHARE,
        process=1,
        rounds=2,
        total_rounds=6,
        iterations=5,
        earlier=Earlier(medians_ns=(1e6,) * 2, lowest_ns=1e6),
        fixed=True,
    )
    start_result = run_start(Device(steady(4e9)), start_plan, PLAN, Tape())
    assert (len(start_result.rounds), start_result.total_rounds, start_result.iterations) == (2, 6, 5)


def test_a_worthless_round_is_taken_again_at_most_twice() -> None:
    asked = []

    def hot(taken) -> bool:
        asked.append(taken.samples_ns[0])
        return taken.samples_ns[0] > 1e6

    start_result = run_start(
        Device(series(2e6, 1e6, 3e6, 3e6, 3e6)), replace(SHARE, rounds=2), PLAN, Tape(), RoundHooks(redo=hot)
    )
    assert [taken.samples_ns[0] for taken in start_result.rounds] == [1e6, 3e6]
    assert asked == [2e6, 1e6, 3e6, 3e6]


def test_one_call_per_iteration_gives_integers() -> None:
    (taken,) = run_start(Device(steady(141_200.37)), replace(SHARE, rounds=1), PLAN, Tape()).rounds
    assert taken.samples_ns[0] == 141_200
    assert isinstance(taken.samples_ns[0], int)


@pytest.mark.parametrize(
    ("value", "loops", "kept"),
    [
        (1.234567, 1, 1.2346),
        (9999.4, 1, 9999.4),
        (10_000.4, 1, 10_000),
        (0.00001, 1, 0.00001),
        (1.234567, 10, 1.2346),
        (0.00001, 10, 0.00001),
    ],
)
def test_no_more_digits_are_kept_than_a_clock_has_and_never_a_zero(value, loops, kept) -> None:
    assert tidy([value], loops) == (kept,)


def test_whole_values_are_integers_without_inner_loops() -> None:
    assert [type(value) for loops in (1, 10) for value in tidy([3.0], loops)] == [int, float]


def test_an_average_of_a_few_nanoseconds_keeps_its_fraction() -> None:
    (taken,) = run_start(Device(steady(1.7)), replace(SHARE, rounds=1), PLAN, Tape()).rounds
    assert taken.samples_ns[0] == 1.7


@given(
    st.lists(st.floats(min_value=1e3, max_value=1e9), min_size=1, max_size=12),
    st.floats(min_value=1e3, max_value=1e9),
)
def test_rounds_after_an_early_pass_never_raise_the_minimum_above_its_bound(medians, bound) -> None:
    for count in range(1, len(medians) + 1):
        so_far = Earlier(medians_ns=tuple(medians[:count]), lowest_ns=min(medians[:count]))
        if enough(so_far, bound, None) == "early-pass":
            assert min(medians) <= bound
            assert count >= 3


def test_the_medians_that_stop_a_start_are_those_of_its_samples() -> None:
    start_result = run_start(Device(series(3e6, 2e6, 1.4e6, 1e6)), replace(SHARE, bound_ns=1.5e6), PLAN, Tape())
    assert [stats.median(taken.samples_ns) for taken in start_result.rounds] == [3e6, 2e6, 1.4e6]

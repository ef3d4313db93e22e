"""Two workloads that take turns, on a clock that only moves by working and sleeping."""

from __future__ import annotations

from dataclasses import replace

from pytest_devperf.case.plan import Plan
from pytest_devperf.measure.loop import RoundHooks
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.measure.turns import Sides, run_turns
from pytest_devperf.targets.protocol import RoundContext


class StillClock:
    def __init__(self) -> None:
        self.ns = 0

    def now_ns(self) -> int:
        return self.ns

    def sleep(self, seconds: float) -> None:
        self.ns += int(seconds * 1e9)


class Steady:
    """A workload that takes the same time in every call, and writes down when it was run."""

    load_ns = None
    tick_ns = 50.0

    def __init__(self, name: str, call_ns: float, clock: StillClock, diary: list[str]) -> None:
        self.name, self.call_ns, self.clock, self.diary = name, call_ns, clock, diary

    def run(self, iterations: int, inner_loops: int) -> list[float]:
        self.diary.append(f"{self.name}{iterations}x{inner_loops}")
        self.clock.ns += int(self.call_ns * iterations * inner_loops)
        return [self.call_ns] * iterations

    def anchor(self) -> int | None:
        raise AssertionError("turns have no anchor")

    def memory(self, iterations: int) -> None:
        raise AssertionError("turns take no memory")


class Tool(Steady):
    """A program that warms itself and takes no inner loops."""

    def warm_up(self, iterations: int) -> None:
        pass


ORDERS = ("ABBABAAB", "BAABABBA")
"""Turns of even and odd pairs: a steady drift cancels within each four."""

SHARE = StartPlan(process=0, rounds=4, total_rounds=24, processes=6, iterations=10)


class Watched(Steady):
    """A workload whose untimed setup takes 0.2 s."""

    def round_context(self) -> RoundContext:
        return RoundContext(wall_ns=round(self.iterations * (self.call_ns + 2e8)))

    def run(self, iterations: int, inner_loops: int) -> list[float]:
        self.iterations = iterations
        return super().run(iterations, inner_loops)


class Blind(Steady):
    """A workload that does not know its clock's step."""

    tick_ns = None


def take(kind=Steady, *, old_ns=1e6, new_ns=2e6, start_plan=SHARE, from_ns=0, **how):
    clock, diary = StillClock(), []
    clock.ns = from_ns
    sides = Sides(old=kind("A", old_ns, clock, diary), new=kind("B", new_ns, clock, diary))
    old, new = run_turns(
        sides, start_plan, Plan(), clock, order=ORDERS[start_plan.process % 2], hooks=RoundHooks(**how)
    )
    return old, new, diary, clock


def test_rounds_alternate_in_the_order_of_the_pair() -> None:
    old, new, diary, _ = take()
    assert "".join(entry[0] for entry in diary if entry.endswith("10x1")) == "ABBABAAB"
    assert len(old.rounds) == len(new.rounds) == 4
    assert {row for round_ in new.rounds for row in round_.samples_ns} == {2_000_000}


def test_the_first_round_of_each_side_may_be_a_shorter_one_that_gets_it_ready() -> None:
    old, new, diary, _ = take(start_plan=replace(SHARE, process=1, inner_loops=1, ready=4))
    assert [len(taken.samples_ns) for taken in new.rounds] == [4, 10, 10, 10]
    assert [len(taken.samples_ns) for taken in old.rounds] == [4, 10, 10, 10]
    assert sum(entry.endswith("4x1") for entry in diary) == 2


def test_both_sides_make_as_many_calls_per_iteration() -> None:
    old, new, diary, _ = take(old_ns=100.0, new_ns=100_000.0)
    assert old.inner_loops == new.inner_loops
    counted = {entry.rpartition("x")[2] for entry in diary if "10x" in entry}
    assert counted == {str(new.inner_loops)}


def test_slow_workloads_get_fewer_iterations() -> None:
    old, new, _, _ = take(old_ns=2e8, new_ns=2e8)
    # 24 rounds of both sides, 0.4 s per iteration of both, 60 s in all.
    assert old.iterations == new.iterations == 6
    assert len(new.rounds[0].samples_ns) == new.iterations


def test_the_rest_after_both_rounds_of_a_pair_is_part_of_the_budget() -> None:
    old, _, _, _ = take(old_ns=1e8, new_ns=1e8, rest_s=0.3)
    # 60 s / 24 rounds, less 0.6 s of rest, leaves 1.9 s for iterations of 0.2 s.
    assert old.iterations == 9


def test_untimed_setups_are_part_of_the_budget() -> None:
    old, _, _, _ = take(Watched, old_ns=1e6, new_ns=1e6)
    # 60 s / 24 rounds for iterations of 2 ms beside setups of 0.2 s on either side.
    assert old.iterations == 6


def test_code_that_is_too_slow_for_the_budget_is_measured_all_the_same() -> None:
    old, new, _, _ = take(old_ns=2e9, new_ns=2e9)
    assert (old.iterations, len(old.rounds), len(new.rounds)) == (5, 4, 4)


def test_given_iterations_and_those_of_tools_are_not_fitted() -> None:
    fixed, _, _, _ = take(old_ns=2e9, new_ns=2e9, start_plan=replace(SHARE, fixed=True))
    tool, _, _, _ = take(Tool, old_ns=2e9, new_ns=2e9)
    assert fixed.iterations == tool.iterations == 10


def test_the_result_of_each_side_has_its_clock() -> None:
    old, new, _, _ = take(start_plan=replace(SHARE, inner_loops=3))
    assert (old.tick_ns, new.tick_ns) == (50.0, 50.0)
    assert (old.stop, old.inner_loops, old.iterations, old.total_rounds) == ("done", 3, 10, 24)
    blind, _, _, _ = take(Blind)
    assert blind.tick_ns is None


def test_every_round_is_reported_and_an_unusable_one_is_taken_again() -> None:
    shown, asked = [], []

    def worthless(taken) -> bool:
        asked.append(taken)
        return len(asked) == 1

    old, new, _, _ = take(on_round=shown.append, redo=worthless)
    assert len(asked) == 9
    assert sorted(map(id, shown)) == sorted(map(id, (*old.rounds, *new.rounds)))


def test_a_start_that_is_asked_for_fewer_rounds_skips_turns_and_goes_on() -> None:
    old, new, diary, _ = take(start_plan=replace(SHARE, rounds=1))
    assert (len(old.rounds), len(new.rounds)) == (1, 1)
    assert "".join(entry[0] for entry in diary if entry.endswith("10x1")) == "AB"


def test_a_clock_that_has_already_run_changes_nothing() -> None:
    _, early, _, _ = take(Tool, old_ns=2e8, new_ns=2e8)
    _, late, _, _ = take(Tool, old_ns=2e8, new_ns=2e8, from_ns=10**13)
    assert early.rounds[0].samples_ns == late.rounds[0].samples_ns


def test_a_round_that_gets_a_side_ready_is_no_longer_than_the_others() -> None:
    old, _, _, _ = take(old_ns=2e9, new_ns=2e9, start_plan=replace(SHARE, ready=8))
    assert [len(taken.samples_ns) for taken in old.rounds] == [5, 5, 5, 5]


def test_later_starts_take_the_plan_as_it_is() -> None:
    start_plan = StartPlan(process=1, rounds=2, total_rounds=8, processes=4, iterations=5, inner_loops=3, fixed=True)
    old, new, diary, _ = take(start_plan=start_plan)
    assert "".join(entry[0] for entry in diary if entry.endswith("5x3")) == "BAAB"
    assert (old.total_rounds, new.iterations, new.inner_loops) == (8, 5, 3)


def test_rounds_rest_between_one_another_alone() -> None:
    _, _, _, still = take()
    _, _, _, rested = take(rest_s=0.5)
    assert rested.ns - still.ns == 7 * 500_000_000

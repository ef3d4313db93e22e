"""Two workloads that take turns, on a clock that only moves by working and sleeping."""

from __future__ import annotations

from pytest_devperf.case.plan import Plan
from pytest_devperf.compare.paired import turns
from pytest_devperf.measure.round import Share
from pytest_devperf.measure.turns import Sides, run_turns


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


SHARE = Share(process=0, rounds=4, total_rounds=24, processes=6, iterations=10)


def take(kind=Steady, *, old_ns=1e6, new_ns=2e6, share=SHARE, plan=None, rest_s=0.0):
    clock, diary = StillClock(), []
    sides = Sides(old=kind("A", old_ns, clock, diary), new=kind("B", new_ns, clock, diary))
    order = turns(share.process)
    old, new = run_turns(sides, share, plan or Plan(), clock, order=order, rest_s=rest_s)
    return old, new, diary, clock


def test_rounds_alternate_in_the_order_of_the_pair() -> None:
    old, new, diary, _ = take()
    assert "".join(entry[0] for entry in diary if entry.endswith("10x1")) == "ABBABAAB"
    assert len(old.rounds) == len(new.rounds) == 4
    assert {row for round_ in new.rounds for row in round_.samples_ns} == {2_000_000}


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


def test_tools_that_take_too_long_get_fewer_rounds_in_all_but_those_of_one_start() -> None:
    _, new, _, _ = take(Tool, old_ns=2e8, new_ns=2e8)
    assert new.total_rounds == 15
    _, slow, _, _ = take(Tool, old_ns=5e9, new_ns=5e9)
    assert slow.total_rounds == 4


def test_later_starts_take_the_plan_as_it_is() -> None:
    share = Share(process=1, rounds=2, total_rounds=8, processes=4, iterations=5, inner_loops=3, fixed=True)
    old, new, diary, _ = take(share=share)
    assert "".join(entry[0] for entry in diary if entry.endswith("5x3")) == "BAAB"
    assert (old.total_rounds, new.iterations, new.inner_loops) == (8, 5, 3)


def test_rounds_rest_between_one_another_alone() -> None:
    _, _, _, still = take()
    _, _, _, rested = take(rest_s=0.5)
    assert rested.ns - still.ns == 7 * 500_000_000

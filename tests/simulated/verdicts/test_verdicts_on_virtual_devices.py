"""How often a verdict is wrong on devices whose truth is known; everything seeded, nothing waits."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pytest

from benchmarks.verdicts.devices import KINDS, kind_named
from benchmarks.verdicts.session import Rules, bench, compare_session, measure_fully, save
from benchmarks.verdicts.trial import OURS, Score, try_rules
from pytest_devperf.compare.looks import FIRST_STARTS
from pytest_devperf.compare.policy import Policy
from pytest_devperf.record.record import Record

STEADY = ("quiet", "boost", "governor", "thermal", "bursts", "collector spikes", "laptop")
STARTS_DIFFER = ("layout 1 %", "layout 3 %", "layout, heavy tail")
MACHINES = 5
"""Of every kind, each with a suite of 16 cases: an alarm in one case is 1.2 % of a kind's."""

ALL_ROUNDS = 360


@pytest.fixture(scope="module")
def scores() -> Mapping[str, Mapping[str, Score]]:
    """Kind of device -> rule -> what it did, with the default rule and with each part of it left out."""
    found: dict[str, dict[str, Score]] = {}
    for name in (*STEADY, *STARTS_DIFFER, "day to day", "cloud runner"):
        ours = OURS if name in {"day to day", "cloud runner", "layout 3 %"} else {"devperf": OURS["devperf"]}
        totals = found[name] = {rule: Score() for rule in ours}
        for seed in range(MACHINES):
            on = bench(kind_named(name), seed)
            for rule, score in try_rules(on, [save(on, Rules())], seed, ours).items():
                totals[rule].add(score)
    return found


def together(scores: Mapping[str, Mapping[str, Score]], names: tuple[str, ...]) -> Score:
    total = Score()
    for name in names:
        total.add(scores[name]["devperf"])
    return total


def test_unchanged_code_on_steady_devices_fails_in_at_most_one_case_of_a_hundred(scores):
    assert together(scores, STEADY).percent_failed(0.0) <= 1.0


@pytest.mark.parametrize("name", STARTS_DIFFER)
def test_unchanged_code_fails_in_at_most_five_of_a_hundred_if_process_starts_differ(scores, name):
    assert scores[name]["devperf"].percent_failed(0.0) <= 5.0


def test_95_of_100_real_regressions_of_5_percent_are_found_on_steady_devices(scores):
    assert together(scores, STEADY).percent_failed(0.05) >= 95.0


@pytest.mark.parametrize("name", STEADY)
def test_a_regression_of_10_percent_is_found_on_every_steady_device(scores, name):
    assert scores[name]["devperf"].percent_failed(0.10) >= 95.0


def test_unchanged_code_costs_less_than_half_of_the_iterations(scores):
    assert together(scores, tuple(scores)).iterations_each < ALL_ROUNDS / 2


def test_without_the_anchor_a_slow_day_is_taken_for_slow_code(scores):
    day = scores["day to day"]

    assert day["devperf, no anchor"].percent_failed(0.0) > 2 * day["devperf"].percent_failed(0.0)


def test_without_a_second_look_fewer_real_regressions_are_found(scores):
    with_it, without = Score(), Score()
    for name in ("layout 3 %", "cloud runner", "day to day"):
        with_it.add(scores[name]["devperf"])
        without.add(scores[name]["devperf, no confirmation"])

    assert without.percent_failed(0.05) < with_it.percent_failed(0.05)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("saved", [1, 3])
def test_stopping_early_on_a_pass_changes_no_verdict(kind, saved):
    # One case per machine: what the machine does until the stop is then the same with and without it.
    for seed in range(5):
        on = bench(kind, seed, count=1)
        runs = [save(on, Rules()) for _ in range(saved)]
        for slower in (0.0, 0.02, 0.04):
            truth = {on.cases[0].id: slower}
            (early,) = compare_session(on.fork(), runs, truth, Rules())
            (full,) = compare_session(on.fork(), runs, truth, Rules(early_pass=False))

            assert early.failed == full.failed
            assert early.iterations <= full.iterations


def test_only_suspects_are_measured_twice_and_nothing_is_without_confirmation():
    on = bench(kind_named("layout 3 %"), 4)
    runs = [save(on, Rules())]
    truth = dict.fromkeys([case.id for case in on.cases], 0.05)

    usual = compare_session(on.fork(), runs, truth, Rules())
    hasty = compare_session(on.fork(), runs, truth, Rules(policy=Policy(confirm=False)))

    assert any(outcome.confirmed for outcome in usual)
    assert all(outcome.confirmed for outcome in usual if outcome.failed)
    assert not any(outcome.confirmed for outcome in hasty)
    assert {outcome.case_id for outcome in usual if outcome.comparison.verdict == "within_noise"} == {
        outcome.case_id for outcome in hasty if outcome.comparison.verdict == "within_noise"
    }


def test_a_regression_is_reported_with_its_size():
    on = bench(kind_named("quiet"), 1)
    runs = [save(on, Rules())]

    outcomes = compare_session(on, runs, dict.fromkeys([case.id for case in on.cases], 0.10), Rules())

    assert all(outcome.failed for outcome in outcomes)
    assert all(abs(outcome.comparison.changes[0].delta_pct - 10) < 1 for outcome in outcomes)


def test_faster_code_is_reported_as_improved_and_never_fails():
    on = bench(kind_named("quiet"), 2)
    runs = [save(on, Rules())]

    outcomes = compare_session(on, runs, dict.fromkeys([case.id for case in on.cases], -0.10), Rules())

    assert {outcome.comparison.verdict for outcome in outcomes} == {"improved"}


@dataclass
class SlowerFromNowOn:
    """Everything takes longer, the anchor kernel too."""

    factor: float

    def wake(self, draw: random.Random) -> None:
        pass

    def advance(self, seconds: float, load: float, draw: random.Random) -> None:
        pass


def test_a_machine_slower_as_a_whole_makes_suspects_that_the_anchor_stops():
    on = bench(kind_named("quiet"), 3)
    runs = [save(on, Rules())]
    on.machine.influences.append(SlowerFromNowOn(factor=1.04))

    outcomes = compare_session(on, runs, {}, Rules())

    assert not any(outcome.failed for outcome in outcomes)
    assert {outcome.comparison.changes[0].stopped_by for outcome in outcomes} >= {"anchor"}


def test_the_same_seed_gives_the_same_samples():
    first, second = (save(bench(kind_named("cloud runner"), 7), Rules()).cases for _ in range(2))

    assert [case.metrics[0].samples_ns for case in first] == [case.metrics[0].samples_ns for case in second]


def test_the_anchor_sees_heat_and_not_the_layout():
    heat = measure_fully(bench(kind_named("thermal"), 5), {}, FIRST_STARTS)
    layout = measure_fully(bench(kind_named("layout 3 %"), 5), {}, FIRST_STARTS)

    assert spread(heat) > 0.08
    assert spread(layout) < 0.03


def spread(records: Iterable[Record]) -> float:
    anchors = [float(at) for record in records for at in record.metrics[0].anchor_ns if at]
    return max(anchors) / min(anchors) - 1

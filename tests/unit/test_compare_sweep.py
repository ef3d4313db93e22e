"""Configurations ranked among themselves."""

from __future__ import annotations

import pytest
from rule_samples import record, scalars, timed, with_rows

from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.sweep import Ranked, rank
from pytest_devperf.metric import INFORMATIONAL
from pytest_devperf.report.terminal.sweep import configuration, render, sweep_blocks, verdict


def entrant(name: str, *floors_ms: float, **fields):
    return record(timed([ms * 1e6 for ms in floors_ms]), id=f"test_net.py::test_net[{name}]", **fields)


STARTS = (1.0, 1.001, 1.002, 1.0, 1.001, 1.002)


def scaled(factor: float) -> list[float]:
    return [factor * start for start in STARTS]


def test_a_clear_difference_has_a_winner() -> None:
    sweep = rank([entrant("slow", *scaled(1.2)), entrant("fast", *STARTS), entrant("middle", *scaled(1.1))])
    assert [configuration(each.id) for each in sweep.ranked] == ["fast", "middle", "slow"]
    assert verdict(sweep) == "winner: fast, by 10.0 % and beyond noise"
    assert all(not each.like for each in sweep.ranked)


def test_each_configuration_is_shown_in_the_unit_of_its_metric() -> None:
    sweep = rank([entrant("a", *STARTS), entrant("b", *scaled(1.2))])
    assert sweep.ranked[1] == Ranked(
        id="test_net.py::test_net[b]",
        metric="latency",
        unit="ms",
        robust=pytest.approx(1.2),
        iqr=pytest.approx(0.0002),
        beyond_pct=pytest.approx(20.0),
        like=(),
    )


def test_if_higher_is_better_the_highest_comes_first() -> None:
    sweep = rank(
        [record(scalars([boxes] * 3, kind="recorded", better="higher"), id=f"t[{boxes:g}]") for boxes in (8.0, 12.0)]
    )
    assert [(each.id, each.robust, each.unit, each.beyond_pct) for each in sweep.ranked] == [
        ("t[12]", 12.0, "boxes", 0.0),
        ("t[8]", 8.0, "boxes", pytest.approx(100 * 4 / 12)),
    ]
    assert sweep.winner == "t[12]"


def test_the_main_metric_is_ranked_and_without_one_the_first_that_is_compared() -> None:
    shown, boxes = scalars([1.0] * 3, name=next(iter(INFORMATIONAL))), scalars([2.0] * 3, kind="recorded")
    main = rank([record(boxes, timed([1e6] * 3), id="a"), record(boxes, timed([2e6] * 3), id="b")])
    assert {each.metric for each in main.ranked} == {"latency"}
    first = rank([record(shown, boxes, id="a"), record(shown, boxes, id="b")])
    assert {each.metric for each in first.ranked} == {"boxes"}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (record(scalars([1.0] * 3, kind="recorded"), id="odd"), "its metric is boxes, not latency"),
        (record(id="odd"), "nothing was measured"),
        (record(with_rows(timed([1e6]), [[0.0], [0.0]]), id="odd"), "it contains a sample that is"),
    ],
)
def test_what_cannot_be_ranked_is_left_out_with_its_reason(odd, reason) -> None:
    ((name, shown),) = rank([entrant("a", *STARTS), odd]).left_out
    assert name == "odd"
    assert shown.startswith(reason)


@pytest.mark.parametrize("wide", [{"width_ns": 300_000.0}, {"tick_ns": 150_000.0}], ids=["iqr", "tick"])
@pytest.mark.parametrize("which", [0, 1])
def test_spread_and_clock_of_either_side_widen_the_bound(wide, which) -> None:
    sides = [
        record(timed([factor * ms * 1e6 for ms in STARTS], **(wide if place == which else {})), id=f"t[{place}]")
        for place, factor in enumerate((1.0, 1.2))
    ]
    assert rank(sides).winner is None


def test_values_that_have_no_logarithm_are_ranked_as_they_are() -> None:
    sweep = rank([record(scalars([value] * 3, kind="recorded"), id=f"t[{value:g}]") for value in (-5.0, -2.0)])
    assert sweep.winner == "t[-5]"


def test_what_lies_within_the_tolerance_does_not_win() -> None:
    sweep = rank([entrant("a", *STARTS), entrant("b", *scaled(1.01)), entrant("c", *scaled(1.2))])
    assert sweep.winner is None
    assert verdict(sweep) == "no winner: a and b do not differ beyond noise"
    assert [len(each.like) for each in sweep.ranked] == [1, 1, 0]


def test_a_narrower_tolerance_distinguishes_them() -> None:
    sides = [entrant("a", *STARTS), entrant("b", *scaled(1.01))]
    assert rank(sides, Policy(tolerance={"*": 0.005})).winner == "test_net.py::test_net[a]"


def test_process_starts_that_differ_as_much_leave_no_winner() -> None:
    sweep = rank([entrant("a", 1.0, 1.1, 1.2), entrant("b", 1.06, 1.16, 1.26)])
    assert sweep.winner is None


def test_one_process_start_each_proves_nothing() -> None:
    assert rank([entrant("a", 1.0), entrant("b", 2.0)]).winner is None


def test_the_more_pairs_there_are_the_more_each_has_to_show() -> None:
    near = [1.0, 1.02, 1.04]
    two = [entrant("a", *near), entrant("b", *[1.1 * each for each in near])]
    many = [entrant(str(place), *[1.1 * each for each in near]) for place in range(12)]
    assert rank(two).winner is not None
    assert rank([two[0], *many]).winner is None


def near(slower: float, *, scatter: float) -> list[float]:
    """Three process starts of which one is slower; the scatter sets the p-value beside others alike."""
    return [slower, slower + scatter, slower]


def test_the_last_of_three_pairs_is_tested_at_the_whole_level() -> None:
    # Both pairs with `far` are clear. The third, at a p-value of 0.6 %, would fail a third of 1 %.
    sides = [entrant("a", *near(1.0, scatter=0.02)), entrant("b", *near(1.05, scatter=0.02)), entrant("far", 2, 2, 2)]
    assert rank(sides).winner == "test_net.py::test_net[a]"


def test_the_first_of_three_pairs_is_tested_at_a_third_of_the_level() -> None:
    scattered = entrant("scattered", 1.0, 2.0, 3.0)
    sides = [entrant("a", *near(1.0, scatter=0.02)), entrant("b", *near(1.05, scatter=0.02)), scattered]
    assert rank(sides).winner is None
    assert rank(sides[:2]).winner is not None


def test_failed_configurations_are_omitted_and_reported() -> None:
    sweep = rank([entrant("a", *STARTS), entrant("b", *STARTS, outcome="skipped", reason="no GPU")])
    assert sweep.left_out == (("test_net.py::test_net[b]", "no GPU"),)
    assert render("net", sweep)[-2:] == [
        "left out b: no GPU",
        "no winner: fewer than two configurations were measured",
    ]


def test_every_sweep_is_a_separate_block() -> None:
    cases = [
        entrant("a", *STARTS, sweep="one"),
        entrant("b", *scaled(1.5), sweep="two"),
        entrant("c", *STARTS),
        entrant("d", *scaled(2), sweep="one"),
    ]
    first, second = sweep_blocks(cases)
    assert first[0] == "sweep one"
    assert first[-1] == "winner: a, by 100 % and beyond noise"
    assert second[0] == "sweep two"

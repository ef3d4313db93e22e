"""The rule, step by step, and its edges."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rule_samples import ANCHOR, baseline, only, record, round_of, scalars, timed, with_rows

from pytest_devperf.compare.compare import compare, compare_so_far
from pytest_devperf.compare.looks import Further
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.stopping.bound import early_bound_ns
from pytest_devperf.record.derived import derive
from pytest_devperf.record.record import Change, Confirmation, Measurement, Record
from pytest_devperf.sensor.run_context import RunContext

POLICY = Policy()
QUIET = (1_000_000, 1_001_000, 1_002_000)
"""Floors of three process starts of a quiet machine, in ns: the gap is 1 µs, 0.1 %."""
SIX = (1_000_000, 1_001_000, 1_002_000, 1_001_000, 1_000_500, 1_002_000)
SLOWER = tuple(1.1 * floor for floor in QUIET)


def judged(candidate: Measurement, *befores: Measurement, policy: Policy = POLICY, **fields):
    saved = [record(before) for before in (befores or (timed(SIX),))]
    return only(compare(record(candidate, **fields), baseline(*saved), policy))


# -- step 1: the threshold --------------------------------------------------------------------------


def test_a_record_against_itself_is_within_noise() -> None:
    found = judged(timed(SIX), timed(SIX))
    assert (found.verdict, found.delta, found.delta_pct) == ("within_noise", 0.0, 0.0)


def test_the_tolerance_decides_if_it_is_the_largest_bound() -> None:
    found = judged(timed([1_019_000] * 3))
    assert (found.verdict, found.decided_by) == ("within_noise", "tolerance")
    assert found.threshold == pytest.approx(0.02)
    assert judged(timed([1_021_000] * 3)).verdict == "suspect"


@pytest.mark.parametrize("wide", ["baseline", "candidate"])
def test_the_wider_iqr_of_both_sides_decides_if_it_is_the_largest_bound(wide) -> None:
    slower = [1_080_000.0] * 3
    before = timed(SIX, width_ns=100_000.0 if wide == "baseline" else 200.0)
    found = judged(timed(slower, width_ns=100_000.0 if wide == "candidate" else 200.0), before)
    assert (found.verdict, found.decided_by) == ("within_noise", "iqr")
    assert found.threshold == pytest.approx(0.1)


@pytest.mark.parametrize("coarse", ["baseline", "candidate"])
def test_two_ticks_of_the_coarser_clock_decide_if_they_are_the_largest_bound(coarse) -> None:
    before = timed(SIX, tick_ns=30_000.0 if coarse == "baseline" else 1.0)
    found = judged(timed([1_050_000] * 3, tick_ns=30_000.0 if coarse == "candidate" else 1.0), before)
    assert (found.verdict, found.decided_by) == ("within_noise", "tick")
    assert found.threshold == pytest.approx(0.06)


def test_a_clock_that_nobody_knows_is_read_from_the_samples() -> None:
    rows = tuple(tuple(1_000_000 + 40_000 * (place % 3) for place in range(30)) for _ in range(6))
    coarse = with_rows(timed(QUIET), rows)
    found = judged(replace(coarse, tick_ns=None), replace(coarse, tick_ns=None))
    assert found.threshold == pytest.approx(0.08)


def test_the_pooled_iqr_holds_the_drift_between_rounds() -> None:
    drifting = [1_000_000 + 20_000 * place for place in range(6)]
    within = judged(timed(drifting), timed(drifting))
    pooled = judged(timed(drifting), timed(drifting), policy=Policy(iqr="pooled"))
    assert within.iqr_baseline == pytest.approx(0.0002, rel=1e-6)
    assert pooled.iqr_baseline > 0.04


@pytest.mark.parametrize(
    "tolerance", [{"latency": 0.2}, {"*": 0.2}, {"*": 0.01, "latency": 0.2}, {"*": 0.2, "other": 0.01}]
)
def test_the_longest_name_that_fits_gives_the_tolerance(tolerance) -> None:
    assert judged(timed(SLOWER), policy=Policy(tolerance=tolerance)).verdict == "within_noise"


def test_a_family_gives_the_tolerance_of_its_metrics_and_a_name_beats_it() -> None:
    slow, before = timed(SLOWER, name="latency.decode"), timed(SIX, name="latency.decode")
    assert judged(slow, before, policy=Policy(tolerance={"latency": 0.2})).verdict == "within_noise"
    own = Policy(tolerance={"latency": 0.2, "latency.decode": 0.05})
    assert judged(slow, before, policy=own).verdict == "suspect"


# -- step 2: the confirmation -----------------------------------------------------------------------


def test_a_suspect_waits_for_its_confirmation() -> None:
    comparison = compare(record(timed(SLOWER)), baseline(record(timed(SIX))), POLICY)
    assert (comparison.verdict, comparison.awaiting) == ("suspect", True)
    assert (only(comparison).stopped_by, only(comparison).confirmed) == ("unconfirmed", None)


def test_a_suspect_that_is_found_again_is_a_regression() -> None:
    comparison = compare(record(timed(SLOWER, again=SLOWER)), baseline(record(timed(SIX))), POLICY)
    assert (comparison.verdict, comparison.awaiting, only(comparison).confirmed) == ("regressed", False, True)
    assert only(comparison).delta == pytest.approx(0.1)
    assert only(comparison).delta_pct == pytest.approx(10.0)


def test_the_confirmation_has_to_find_half_the_threshold() -> None:
    assert judged(timed([1_021_000] * 6, again=[1_011_000] * 6)).verdict == "regressed"
    gone = judged(timed([1_021_000] * 6, again=[1_009_000] * 6))
    assert (gone.verdict, gone.stopped_by, gone.confirmed) == ("suspect", "confirm", False)


def test_an_empty_confirmation_leaves_a_suspect_that_waits_no_longer() -> None:
    slow = replace(timed(SLOWER), confirmation=Confirmation(process=(), samples_ns=()))
    comparison = compare(record(slow), baseline(record(timed(SIX))), POLICY)
    assert (comparison.verdict, comparison.awaiting) == ("suspect", False)
    assert only(comparison).stopped_by == "unconfirmed"


def test_without_confirming_the_candidate_alone_decides() -> None:
    comparison = compare(record(timed(SLOWER)), baseline(record(timed(SIX))), Policy(confirm=False))
    assert (comparison.verdict, comparison.awaiting, only(comparison).confirmed) == ("regressed", False, None)


# -- step 3: beyond what process starts differ ------------------------------------------------------


def test_a_change_within_what_process_starts_differ_is_a_suspect() -> None:
    scattered = [1_000_000, 1_060_000, 1_090_000, 1_070_000, 1_050_000, 1_080_000]
    found = judged(timed([1_055_000, 1_065_000, 1_070_000], again=[1_050_000, 1_060_000, 1_080_000]), timed(scattered))
    assert (found.verdict, found.stopped_by, found.confirmed) == ("suspect", "starts", True)


def test_two_starts_of_a_baseline_prove_nothing_if_the_new_ones_scatter() -> None:
    now = [1_040_000, 1_049_000, 1_500_000]
    found = judged(timed(now, again=now), timed([1_000_000, 1_010_000]))
    assert (found.verdict, found.stopped_by) == ("suspect", "starts")
    assert found.p > found.level


def test_ranks_find_what_a_single_bad_start_hides_from_the_t_test() -> None:
    before = timed([1_000_000 + 1_000 * place for place in range(11)] + [2_000_000])
    slow = [1_050_000 + 1_000 * place for place in range(6)]
    found = judged(timed(slow, again=slow), before)
    assert found.verdict == "regressed"
    assert found.p < found.level


def test_the_size_must_have_moved_by_half_the_threshold_whatever_the_ranks() -> None:
    # One start of the baseline had the machine to itself, so the headline moved by 3 %, and all ranks are apart.
    before = timed([1_000_000] + [1_025_000 + 100 * place for place in range(11)])
    now = timed([1_030_000] * 6, again=[1_030_000] * 6)
    assert judged(now, before).stopped_by == "starts"
    assert judged(timed([1_040_000] * 6, again=[1_040_000] * 6), before).verdict == "regressed"


def test_the_more_metrics_are_judged_together_the_clearer_each_must_be() -> None:
    scattered = [1_000_000, 1_030_000, 1_010_000, 1_020_000, 1_005_000, 1_025_000]
    slow = timed([1.025 * floor for floor in scattered], again=[1.025 * floor for floor in scattered])
    alone = judged(slow, timed(scattered))
    among_many = judged(slow, timed(scattered), policy=Policy(metrics=100))
    assert (alone.verdict, among_many.verdict) == ("regressed", "suspect")
    assert alone.p == among_many.p
    assert among_many.level < alone.p < alone.level == 0.01


def test_starts_that_all_agree_need_no_variance() -> None:
    assert judged(timed([1_100_000] * 3, again=[1_100_000] * 3), timed([1_000_000] * 6)).verdict == "regressed"


def test_with_one_start_on_both_sides_the_step_is_void_and_the_case_gets_a_caution() -> None:
    comparison = compare(
        record(timed([1_100_000], per_start=12, again=[1_100_000])),
        baseline(record(timed([1_000_000], per_start=12))),
        POLICY,
    )
    assert comparison.verdict == "regressed"
    assert "one-start" in comparison.cautions


# -- the step of the clock ---------------------------------------------------------------------------


@pytest.mark.parametrize("tick_ns", [1e308, 1_300_000.0, -5.0])
def test_a_step_that_no_clock_has_compares_nothing(tick_ns) -> None:
    slow, before = timed([1_200_000] * 3, again=[1_200_000] * 3), timed(SIX)
    for pair in ((replace(slow, tick_ns=tick_ns), before), (slow, replace(before, tick_ns=tick_ns))):
        found = judged(*pair)
        assert found.verdict == "incomparable"
        assert "its clock has a step of" in found.reason


# -- step 4: the anchor -----------------------------------------------------------------------------


def test_a_machine_that_is_slower_as_a_whole_is_no_regression() -> None:
    slow = timed([1_050_000] * 3, anchors_ns=5250, again=[1_050_000] * 3, again_anchors_ns=5250)
    found = judged(slow, timed(SIX, anchors_ns=5000))
    assert (found.verdict, found.stopped_by) == ("suspect", "anchor")


def test_a_veto_of_the_first_look_needs_no_second() -> None:
    slow = record(timed([1_050_000] * 3, anchors_ns=5250))
    comparison = compare(slow, baseline(record(timed(SIX, anchors_ns=5000))), POLICY)
    assert (comparison.verdict, comparison.awaiting) == ("suspect", False)


def test_what_a_look_at_full_speed_has_found_is_not_explained_by_a_slow_confirmation() -> None:
    slow = timed([1_050_000] * 3, anchors_ns=5000, again=[1_050_000] * 3, again_anchors_ns=5250)
    assert judged(slow, timed(SIX, anchors_ns=5000)).verdict == "regressed"


def test_the_machine_is_judged_by_both_looks_together() -> None:
    slow = timed([1_050_000] * 3, anchors_ns=5200, again=[1_045_000] * 3, again_anchors_ns=5200)
    found = judged(slow, timed(SIX, anchors_ns=5000))
    assert (found.verdict, found.stopped_by) == ("suspect", "anchor")


def test_a_neighbour_that_slowed_the_first_look_most_is_no_large_regression() -> None:
    """The lowest anchor is from the second look, and so must be the change that it is compared with."""
    slow = timed([1_694_000] * 3, anchors_ns=7500, again=[1_336_600] * 3, again_anchors_ns=6250)
    found = judged(slow, timed(SIX, anchors_ns=5000))
    assert (found.verdict, found.stopped_by) == ("suspect", "anchor")


@pytest.mark.parametrize(
    ("anchors_ns", "again_anchors_ns"), [((5000, 6500, 6500), 6500.0), (6500.0, 5000.0)], ids=["unsteady", "recovered"]
)
def test_a_bad_anchor_does_not_hide_a_large_regression(anchors_ns, again_anchors_ns) -> None:
    slow = timed([1_250_000] * 3, anchors_ns=anchors_ns, again=[1_250_000] * 3, again_anchors_ns=again_anchors_ns)
    assert judged(slow, timed(SIX, anchors_ns=5000)).verdict == "regressed"


@pytest.mark.parametrize("factor", [1.25, 2.0])
def test_a_machine_that_is_much_slower_as_a_whole_is_no_regression(factor) -> None:
    capped = timed(
        [1_000_000 * factor] * 3,
        anchors_ns=5000 * factor,
        again=[1_000_000 * factor] * 3,
        again_anchors_ns=5000 * factor,
    )
    found = judged(capped, timed(SIX, anchors_ns=5000))
    assert (found.verdict, found.stopped_by) == ("suspect", "anchor")


def test_code_that_became_much_slower_than_a_slow_machine_is_a_regression() -> None:
    slow = timed([2_000_000] * 3, anchors_ns=7500, again=[2_000_000] * 3, again_anchors_ns=7500)
    assert judged(slow, timed(SIX, anchors_ns=5000)).verdict == "regressed"


@pytest.mark.parametrize("faster", [0.75, 0.5])
def test_a_machine_that_is_much_faster_as_a_whole_is_no_improvement(faster) -> None:
    before = timed([2_000_000] * 6, anchors_ns=10_000)
    assert judged(timed([2_000_000 * faster] * 3, anchors_ns=10_000 * faster), before).verdict == "within_noise"


def loaded(factor: float, anchors_ns: float) -> Record:
    """A load that takes so many times as long as 100 ms, in both looks, beside a latency."""
    values = [1e8 * factor * (1 + place / 1000) for place in range(6)]
    return record(
        timed([1e6 * anchors_ns / 5000] * 6, anchors_ns=anchors_ns, again=[1e6] * 6, again_anchors_ns=anchors_ns),
        scalars(values, kind="start", again=values),
    )


@pytest.mark.parametrize(
    ("factor", "anchors_ns", "verdict", "stopped"),
    [
        (1.0, 5000, "within_noise", None),
        (1.5, 7400, "suspect", "anchor"),
        (1.5, 5000, "regressed", None),
        (3.0, 7400, "regressed", None),
    ],
    ids=["unchanged", "slower machine", "slower load", "more than the machine"],
)
def test_the_anchors_of_the_rounds_apply_to_a_load(factor, anchors_ns, verdict, stopped) -> None:
    comparison = compare(loaded(factor, anchors_ns), baseline(loaded(1.0, 5000)), POLICY)
    (change,) = [each for each in comparison.changes if each.metric == "load"]
    assert (change.verdict, change.stopped_by) == (verdict, stopped)


def test_the_anchors_do_not_apply_to_a_load_if_they_are_left_out() -> None:
    comparison = compare(loaded(1.5, 7400), baseline(loaded(1.0, 5000)), Policy(anchor=False))
    (change,) = [each for each in comparison.changes if each.metric == "load"]
    assert change.verdict == "regressed"


def test_a_change_has_that_of_the_anchor_beside_it() -> None:
    slow = timed([1_050_000] * 3, anchors_ns=5250, again=[1_050_000] * 3, again_anchors_ns=5250)
    assert judged(slow, timed(SIX, anchors_ns=5000)).anchor_pct == pytest.approx(5.0)
    assert judged(timed(SIX), timed(SIX)).anchor_pct is None


def slow_with_anchor(**fields):
    return timed([1_050_000] * 3, anchors_ns=5250, again=[1_050_000] * 3, again_anchors_ns=5250, **fields)


@pytest.mark.parametrize(
    ("now", "then"), [("kernel 1, CPython 3.12", ANCHOR), (None, ANCHOR), (ANCHOR, None), (None, None)]
)
def test_another_kernel_vetoes_nothing(now, then) -> None:
    before = record(timed(SIX, anchors_ns=5000), run_context=RunContext(anchor=then))
    slow = record(slow_with_anchor(), run_context=RunContext(anchor=now))
    assert compare(slow, baseline(before), POLICY).verdict == "regressed"


def test_a_round_without_its_anchor_leaves_no_anchor_to_use() -> None:
    gap = replace(timed(SIX, anchors_ns=5000), anchor_ns=(5000.0,) * 11 + (None,))
    assert judged(slow_with_anchor(), gap).verdict == "regressed"


def test_a_confirmation_without_anchors_leaves_no_anchor_to_use() -> None:
    slow = timed([1_050_000] * 3, anchors_ns=5250, again=[1_050_000] * 3)
    assert judged(slow, timed(SIX, anchors_ns=5000)).verdict == "regressed"


def test_the_anchor_can_be_left_out() -> None:
    assert judged(slow_with_anchor(), timed(SIX, anchors_ns=5000), policy=Policy(anchor=False)).verdict == "regressed"


def test_what_the_anchor_explains_is_no_gap_between_starts() -> None:
    # the first start of the baseline ran on a machine 6 % faster, and its anchor shows it
    floors, anchors = [940_000, 1_000_000, 1_000_000], [4700, 5000, 5000]
    slow = timed([1_020_000] * 3, anchors_ns=5000, again=[1_020_000] * 3, again_anchors_ns=5000)
    before = timed(floors, anchors_ns=anchors)
    assert judged(slow, before).verdict == "regressed"
    assert judged(slow, before, policy=Policy(anchor=False)).verdict == "suspect"


# -- improved ---------------------------------------------------------------------------------------


def test_a_clear_improvement_needs_no_confirmation() -> None:
    comparison = compare(record(timed([900_000] * 3)), baseline(record(timed(SIX))), POLICY)
    assert (comparison.verdict, comparison.awaiting) == ("improved", False)
    assert only(comparison).delta_pct == pytest.approx(-10.0)


def test_an_improvement_within_what_starts_differ_is_none() -> None:
    before = timed([1_000_000, 900_000, 1_100_000])
    assert judged(timed([850_000, 1_050_000, 1_060_000]), before).verdict == "within_noise"


def test_a_faster_machine_is_no_improvement() -> None:
    assert judged(timed([960_000] * 3, anchors_ns=4800), timed(SIX, anchors_ns=5000)).verdict == "within_noise"
    assert judged(timed([960_000] * 3, anchors_ns=5000), timed(SIX, anchors_ns=5000)).verdict == "improved"


# -- the literal rule -------------------------------------------------------------------------------


def test_the_literal_rule_fails_whatever_exceeds_both_iqrs() -> None:
    literal = Policy(rule="iqr")
    assert judged(timed([1_000_300] * 3), policy=literal).verdict == "regressed"
    assert judged(timed([1_000_100] * 3), policy=literal).verdict == "within_noise"
    assert judged(timed([999_700] * 3), policy=literal).verdict == "improved"


def test_the_literal_rule_knows_no_confirmation_and_no_veto() -> None:
    slow = timed([1_050_000] * 3, anchors_ns=5250, again=[900_000] * 3)
    comparison = compare(record(slow), baseline(record(timed(SIX, anchors_ns=5000))), Policy(rule="iqr"))
    assert (comparison.verdict, comparison.awaiting) == ("regressed", False)


# -- unequal rounds, history ------------------------------------------------------------------------


def test_a_baseline_with_more_planned_rounds_is_cut_to_the_first_of_them() -> None:
    before = timed([1_000_000, 1_000_000, 1_000_000, 900_000])
    found = judged(timed([1_000_000] * 3), before)
    assert found.baseline == pytest.approx(1.0)
    assert judged(timed([1_000_000] * 4), before).baseline == pytest.approx(0.9)


def test_a_run_that_passed_early_is_compared_with_the_whole_baseline() -> None:
    before = timed([1_000_000, 1_000_000, 1_000_000, 990_000])
    early = timed([1_000_000], per_start=3, planned_rounds=8, stop="early-pass")
    assert judged(early, before, processes=4).baseline == pytest.approx(0.99)


def test_a_baseline_of_more_starts_is_taken_as_if_it_had_as_many_as_the_run() -> None:
    # The lowest of three chosen from four is the lowest of all in three of four choices.
    before = timed([1_000_000, 1_010_000, 1_010_000, 1_010_000])
    now = timed([1_010_000] * 3, planned_rounds=8)
    assert judged(now, before).baseline == pytest.approx(0.75 * 1.0 + 0.25 * 1.01)
    assert judged(now, before, policy=Policy(rule="iqr")).baseline == 1.0


def test_a_lucky_start_of_a_baseline_is_corrected_by_a_percent_and_a_half_at_most() -> None:
    before = timed([1_000_000] + [1_500_000] * 11)
    assert judged(timed([1_010_000] * 3, planned_rounds=24), before).baseline == pytest.approx(1.015)


def test_a_baseline_with_fewer_rounds_is_taken_whole() -> None:
    assert judged(timed([1_000_000] * 6), timed([1_010_000, 1_005_000])).baseline == pytest.approx(1.005)


def test_of_two_saved_runs_the_lower_counts_and_their_difference_is_spread() -> None:
    found = judged(timed(QUIET), timed([1_040_000] * 3), timed([1_000_000] * 3))
    assert found.baseline == pytest.approx(1.0)
    assert found.iqr_baseline == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("centres", "spread"),
    [
        ((1.00, 1.01, 1.04), 0.04),
        ((1.00, 1.01, 1.02, 1.06), 0.06),
        ((1.00, 1.01, 1.02, 1.03, 1.10), 1.5 * 0.02),
    ],
)
def test_of_more_saved_runs_the_median_counts_and_their_spread_widens_the_iqr(centres, spread) -> None:
    found = judged(timed(QUIET), *[timed([1e6 * centre] * 3) for centre in centres])
    middle = sorted(centres)[len(centres) // 2] if len(centres) % 2 else (1.01 + 1.02) / 2
    assert found.baseline == pytest.approx(middle)
    assert found.iqr_baseline == pytest.approx(spread)


def test_the_baselines_anchor_is_the_median_over_its_runs() -> None:
    befores = [timed(SIX, anchors_ns=anchor) for anchor in (5000, 5010, 4990)]
    slow = timed([1_050_000] * 3, anchors_ns=5250, again=[1_050_000] * 3, again_anchors_ns=5250)
    assert judged(slow, *befores).stopped_by == "anchor"


# -- few values -------------------------------------------------------------------------------------


def test_a_load_has_a_separate_tolerance() -> None:
    before = scalars([1e6, 1.01e6, 1.02e6], kind="start")
    assert judged(scalars([1.3e6] * 3, kind="start", again=[1.3e6] * 3), before).verdict == "within_noise"
    assert judged(scalars([1.5e6] * 3, kind="start", again=[1.5e6] * 3), before).verdict == "regressed"


def test_memory_may_grow_by_one_mebibyte_whatever_its_size() -> None:
    before = scalars([10.0, 10.0, 10.1])
    within = judged(scalars([10.9] * 3, again=[10.9] * 3), before)
    assert (within.verdict, within.decided_by, within.threshold) == ("within_noise", "tolerance", 1.0)
    assert judged(scalars([11.2] * 3, again=[11.2] * 3), before).verdict == "regressed"


def test_few_values_are_judged_by_their_median_and_their_iqr() -> None:
    before = scalars([100.0, 110.0, 130.0])
    found = judged(scalars([112.0, 118.0, 124.0]), before)
    assert (found.baseline, found.candidate, found.iqr_baseline) == (110.0, 118.0, 15.0)
    assert found.verdict == "within_noise"


@pytest.mark.parametrize(("now", "then"), [([1e9] * 2, [1e6] * 3), ([1e9] * 3, [1e6] * 2)])
def test_fewer_than_three_values_on_a_side_are_shown_only(now, then) -> None:
    found = judged(scalars(now, kind="start"), scalars(then, kind="start"))
    assert (found.verdict, found.candidate) == ("inconclusive", 1000.0)
    side, step = ("this run", "measure more") if len(now) < len(then) else ("the baseline", "save one with more")
    assert found.reason == f"{side} has too few values to judge by: {step} (--devperf-processes)"


def test_recorded_values_are_compared_exactly() -> None:
    before = scalars([12.0] * 3, kind="recorded")
    assert judged(scalars([12.0] * 3, kind="recorded"), before).verdict == "within_noise"
    assert judged(scalars([13.0] * 3, kind="recorded", again=[13.0] * 3), before).verdict == "regressed"
    tolerant = Policy(tolerance={"boxes": 0.1})
    assert judged(scalars([13.0] * 3, kind="recorded"), before, policy=tolerant).verdict == "within_noise"


def test_of_recorded_values_that_vary_the_range_is_noise() -> None:
    before = scalars([1.0], kind="recorded", samples=((10.0, 14.0),) * 3, process=(0, 1, 2))
    found = judged(scalars([14.0] * 3, kind="recorded"), before)
    assert (found.verdict, found.baseline, found.threshold) == ("within_noise", 12.0, 4.0)


def test_the_sign_is_reversed_if_higher_is_better() -> None:
    before = scalars([100.0] * 3, kind="recorded", better="higher")
    assert (
        judged(scalars([90.0] * 3, kind="recorded", better="higher", again=[90.0] * 3), before).verdict == "regressed"
    )
    assert judged(scalars([110.0] * 3, kind="recorded", better="higher"), before).verdict == "improved"


def test_if_higher_is_better_starts_are_tested_the_other_way_round() -> None:
    fields = {"kind": "recorded", "better": "higher"}
    before = scalars([98.0, 99.0, 100.0], **fields)
    policy = Policy(tolerance={"*": 0.02})
    assert judged(scalars([60.0] * 3, again=[60.0] * 3, **fields), before, policy=policy).verdict == "regressed"
    scattered = scalars([40.0, 99.0, 100.0], **fields)
    assert judged(scalars([60.0] * 3, again=[60.0] * 3, **fields), scattered, policy=policy).stopped_by == "starts"


def test_zero_and_negative_recorded_values_have_no_logarithm_and_are_judged_all_the_same() -> None:
    before = scalars([-2.0, -2.0, -2.0], kind="recorded")
    assert judged(scalars([0.0] * 3, kind="recorded", again=[0.0] * 3), before).verdict == "regressed"


# -- edges ------------------------------------------------------------------------------------------


def test_rounds_of_one_average_are_judged_by_the_iqr_of_their_medians() -> None:
    def averages(*values: float) -> Measurement:
        rows = tuple((value,) for value in values)
        return derive(replace(timed(QUIET), samples_ns=rows, process=(0, 0, 1, 1, 2)[: len(rows)], planned_rounds=5))

    before = averages(1.00e6, 1.01e6, 1.02e6, 1.03e6, 1.04e6)
    found = judged(averages(1.01e6, 1.01e6, 1.02e6, 1.03e6, 1.04e6), before)
    assert found.iqr_baseline == pytest.approx(0.02)
    assert found.verdict == "within_noise"
    assert judged(averages(1.5e6, 1.5e6, 1.5e6, 1.5e6), before).verdict == "inconclusive"


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_fewer_than_three_rounds_are_shown_only(side) -> None:
    short, long = timed([1_000_000]), timed(QUIET)
    found = judged(short, long) if side == "candidate" else judged(long, short)
    assert found.verdict == "inconclusive"
    assert found.reason.startswith("this run" if side == "candidate" else "the baseline")
    assert found.reason.endswith("(--devperf-rounds)")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.0, -1.0])
@pytest.mark.parametrize("side", ["baseline", "candidate", "confirmation"])
def test_samples_that_are_no_durations_are_incomparable(value, side) -> None:
    rows = [round_of(1e6, 200.0)] * 5 + [(*round_of(1e6, 200.0)[:-1], value)]
    bad = with_rows(timed(QUIET), rows)
    if side == "confirmation":
        looked = Confirmation(process=bad.process, samples_ns=bad.samples_ns)
        found = judged(replace(timed(SLOWER), confirmation=looked))
    else:
        found = judged(bad) if side == "candidate" else judged(timed(QUIET), bad)
    assert found.verdict == "incomparable"
    assert found.delta is None


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_values_that_are_no_numbers_are_incomparable(value) -> None:
    broken = replace(scalars([1.0, 1.0, 1.0]), samples=((1.0,), (value,), (1.0,)))
    assert judged(broken, scalars([1.0, 1.0, 1.0])).verdict == "incomparable"
    assert judged(scalars([1.0, 1.0, 1.0]), broken).verdict == "incomparable"


def test_a_baseline_of_zero_is_incomparable() -> None:
    found = judged(scalars([1.0] * 3, kind="recorded"), scalars([0.0] * 3, kind="recorded"))
    assert (found.verdict, found.delta_pct) == ("incomparable", None)


def test_no_samples_at_all_are_incomparable() -> None:
    assert judged(with_rows(timed(QUIET), ())).verdict == "incomparable"


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_a_workload_that_was_too_slow_shows_the_budget_it_needs(side) -> None:
    slow = derive(replace(timed(QUIET), samples_ns=(), process=(), stop="too-slow", needs_s=96.0))
    found = judged(slow) if side == "candidate" else judged(timed(QUIET), slow)
    assert found.verdict == "inconclusive"
    assert "--devperf-max-time=96" in found.reason


# -- what it could have found -----------------------------------------------------------------------


def test_a_quiet_comparison_finds_what_exceeds_its_tolerance() -> None:
    assert judged(timed(QUIET)).detectable_pct == pytest.approx(2.0, abs=0.05)


def test_starts_that_differ_hide_small_changes() -> None:
    scattered = [1_000_000, 1_100_000, 1_050_000, 1_150_000, 1_080_000, 1_020_000]
    found = judged(timed([1_040_000, 1_000_000, 1_090_000], per_start=4), timed(scattered))
    assert 3 < found.detectable_pct < 10


WIDE = {"width_ns": 400_000.0}
"""An IQR of 40 % at a centre of 1 ms."""


def test_a_run_that_could_not_have_seen_a_quarter_is_inconclusive_and_measured_longer() -> None:
    comparison = compare(record(timed([1_300_000] * 3, **WIDE)), baseline(record(timed(SIX))), POLICY)
    assert (comparison.verdict, comparison.awaiting) == ("inconclusive", True)
    assert "a change below 40 % could not have been found" in comparison.reason


def test_what_lies_within_the_baselines_own_bound_is_not_hidden_by_a_wide_run() -> None:
    assert judged(timed([1_010_000] * 3, **WIDE)).verdict == "within_noise"


def test_a_wide_baseline_stays_inconclusive_and_is_not_measured_longer() -> None:
    comparison = compare(record(timed([1_010_000] * 3)), baseline(record(timed(SIX, **WIDE))), POLICY)
    assert (comparison.verdict, comparison.awaiting) == ("inconclusive", False)


def test_how_much_may_be_hidden_is_chosen() -> None:
    wide = timed([1_300_000] * 3, **WIDE)
    assert judged(wide, policy=Policy(blind=0.5)).verdict == "within_noise"
    assert judged(wide, policy=Policy(tolerance={"*": 0.5})).verdict == "within_noise"


@pytest.mark.parametrize(
    ("again", "verdict"), [([1_300_000] * 6, "regressed"), ([1_015_000] * 6, "within_noise")], ids=["slower", "not"]
)
def test_a_second_look_that_sees_more_decides_together_with_a_blind_first(again, verdict) -> None:
    calm = timed(again)
    looked = Confirmation(process=calm.process, samples_ns=calm.samples_ns)
    found = judged(replace(timed([1_300_000] * 3, **WIDE), confirmation=looked))
    assert found.verdict == verdict
    assert found.iqr_candidate == pytest.approx(0.0002)


def test_a_case_is_inconclusive_if_one_of_its_metrics_could_not_be_seen() -> None:
    both = record(timed([1_300_000] * 3, **WIDE), scalars([10.0] * 3))
    comparison = compare(both, baseline(record(timed(SIX), scalars([10.0] * 3))), POLICY)
    assert [change.verdict for change in comparison.changes] == ["inconclusive", "within_noise"]
    assert comparison.verdict == "inconclusive"


# -- waits for a CPU --------------------------------------------------------------------------------


def waiting(floors_ns, **fields):
    """A latency whose iterations all waited for a CPU, for a tenth of their time."""
    slow = timed([1.1 * floor for floor in floors_ns], **fields)
    ran_ns = tuple(round(30 * floor) for floor in floors_ns for _ in range(2))
    return derive(replace(slow, ran_ns=ran_ns))


def test_waits_for_a_cpu_are_no_part_of_the_code() -> None:
    found = judged(waiting(SIX), timed(SIX))
    assert found.verdict == "within_noise"
    assert found.candidate == pytest.approx(1.0)


def test_a_run_that_alone_waited_throughout_is_a_suspect_only() -> None:
    slow = waiting([1.2 * floor for floor in SIX])
    found = judged(slow, timed(SIX))
    assert (found.verdict, found.stopped_by) == ("suspect", "waits")
    again = replace(
        slow, confirmation=Confirmation(process=slow.process, samples_ns=slow.samples_ns, ran_ns=slow.ran_ns)
    )
    assert judged(again, timed(SIX)).stopped_by == "waits"
    assert judged(again, waiting(SIX)).verdict == "regressed"


# -- more starts ------------------------------------------------------------------------------------


def reached(slow: Measurement, before: Measurement, policy: Policy = POLICY):
    return compare_so_far(record(slow, processes=6), baseline(record(before)), policy)


SCATTERED = [1_000_000, 1_060_000, 1_090_000, 1_070_000, 1_050_000, 1_080_000] * 2


def test_a_suspect_asks_for_a_second_look() -> None:
    assert reached(timed(SLOWER), timed(SIX)).further == Further(starts=6, rounds=2)


def test_a_suspect_that_starts_cannot_prove_yet_asks_for_more_of_them() -> None:
    slow = [1.04 * floor for floor in SCATTERED[:6]]
    found = reached(timed(slow, again=slow), timed(SCATTERED))
    assert (found.comparison.verdict, found.comparison.awaiting) == ("suspect", False)
    assert found.further == Further(starts=6, rounds=1)


def test_a_suspect_has_a_bound() -> None:
    slow = [1.03 * floor for floor in SCATTERED[:6]]
    assert reached(timed(slow, again=slow * 3), timed(SCATTERED), Policy(metrics=10_000)).further is not None
    assert reached(timed(slow, again=slow * 4), timed(SCATTERED), Policy(metrics=10_000)).further is None


def test_a_suspect_whose_starts_look_unchanged_asks_for_nothing_more() -> None:
    # The headline is 4.5 % up, because one start of the baseline was lucky: the others were no faster.
    found = reached(timed([1_045_000] * 6, again=[1_045_000] * 6), timed(SCATTERED[:6]))
    assert (found.comparison.verdict, found.further) == ("suspect", None)


@pytest.mark.parametrize("floors", [SLOWER, QUIET], ids=["regressed", "within-noise"])
def test_what_is_decided_asks_for_nothing_more(floors) -> None:
    assert reached(timed(floors, again=floors), timed(SIX)).further is None


# -- properties -------------------------------------------------------------------------------------

FLOORS = st.lists(st.integers(min_value=10_000, max_value=10_000_000), min_size=2, max_size=6)
WIDTH = st.integers(min_value=0, max_value=9_000)


@given(FLOORS, WIDTH, st.sampled_from(["proven", "iqr"]), st.booleans())
def test_nothing_is_slower_than_itself(floors, width, rule, confirm) -> None:
    same = timed(floors, width_ns=float(width), again=floors, anchors_ns=5000)
    assert judged(same, same, policy=Policy(rule=rule, confirm=confirm)).verdict in {"within_noise", "inconclusive"}


@given(FLOORS, FLOORS, st.sampled_from([2, 4, 1024]))
def test_scaling_both_sides_changes_no_verdict(now, then, factor) -> None:
    def found(scale: int):
        slow = timed([scale * floor for floor in now], width_ns=100.0 * scale, again=[scale * f for f in now])
        return judged(slow, timed([scale * floor for floor in then], width_ns=100.0 * scale, tick_ns=None))

    one, many = found(1), found(factor)
    assert one.verdict == many.verdict
    assert many.baseline == pytest.approx(one.baseline * factor)
    assert many.threshold == pytest.approx(one.threshold * factor)


@settings(max_examples=200)
@given(
    st.lists(st.floats(min_value=0.9, max_value=1.2), min_size=12, max_size=12),
    st.lists(st.lists(st.floats(min_value=0.95, max_value=1.1), min_size=3, max_size=3), min_size=1, max_size=5),
    WIDTH,
    st.sampled_from(["proven", "iqr"]),
)
def test_an_early_pass_never_changes_a_verdict(ratios, befores, width, rule) -> None:
    policy = Policy(rule=rule)
    saved = baseline(*[record(timed([1e6 * ratio for ratio in before], per_start=4)) for before in befores])
    bound = early_bound_ns(saved, "latency", policy, 12)
    assert bound is not None
    rows = [round_of(1e6 * ratio, float(width)) for ratio in ratios]
    whole = derive(
        replace(timed([1e6]), samples_ns=tuple(rows), process=tuple(i // 4 for i in range(12)), planned_rounds=12)
    )
    medians = [sum(row[14:16]) / 2 for row in rows]
    stop = next((count for count in range(3, 13) if min(medians[:count]) <= bound), None)
    if stop is None:
        return
    early = derive(replace(whole, samples_ns=tuple(rows[:stop]), process=whole.process[:stop], stop="early-pass"))
    for measured in (early, whole):
        assert compare(record(measured), saved, policy).verdict not in {"suspect", "regressed"}


@given(FLOORS, FLOORS)
def test_a_confirmation_at_its_early_bound_is_not_found_again(now, then) -> None:
    saved = baseline(record(timed(then)))
    bound = early_bound_ns(saved, "latency", POLICY, 12, confirming=True)
    if bound is None:
        return
    slow = record(timed(now, again=[bound] * 3, width_ns=0.0))
    assert compare(slow, saved, POLICY).verdict != "regressed"


def test_an_unjudged_metric_is_reported_with_its_value() -> None:
    boxes = scalars([0.0] * 3, kind="recorded", better="higher")
    assert judged(replace(boxes, robust=3.0), boxes) == Change(
        metric="boxes",
        verdict="incomparable",
        unit="boxes",
        better="higher",
        candidate=3.0,
        reason="the baseline is 0, so there is no ratio",
    )


# -- the cost of a comparison -----------------------------------------------------------------------


def test_a_comparison_reads_the_samples_of_each_run_once() -> None:
    read: list[str] = []

    class Samples(list[float]):
        side: str

        def __iter__(self) -> Iterator[float]:
            read.append(self.side)
            return super().__iter__()

    def watched(measurement: Measurement, side: str) -> Measurement:
        rows = list(map(Samples, measurement.samples_ns or ()))
        for row in rows:
            row.side = side
        return replace(measurement, samples_ns=rows)

    new, *saved = (timed(SIX) for _ in range(4))
    runs = [record(watched(each, f"saved {place}")) for place, each in enumerate(saved)]
    assert only(compare(record(watched(new, "new")), baseline(*runs), POLICY)).verdict == "within_noise"
    rounds = len(new.process)
    assert Counter(read) == dict.fromkeys(("new", "saved 0", "saved 1", "saved 2"), rounds)

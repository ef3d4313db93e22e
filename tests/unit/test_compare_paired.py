from __future__ import annotations

import pytest
from msgspec.structs import replace
from rule_samples import ANCHOR, record, round_of, scalars, timed

from pytest_devperf.compare.noise import Noise, noise, recommended
from pytest_devperf.compare.paired import ROUNDS_EACH, alike, differences, judge_paired, turns
from pytest_devperf.compare.policy import Policy
from pytest_devperf.record.measurement import derive
from pytest_devperf.record.record import Change
from pytest_devperf.sensor.context import RunContext

POLICY = Policy()


def in_turns(old_ns: float, slower: float, drift_per_round: float = 0.0):
    """Rounds of both codes in the order of `turns` on a machine that drifts steadily."""
    rows: dict[str, list] = {"A": [], "B": []}
    at = 0
    for pair in range(6):
        for code in turns(pair):
            centre = old_ns * (1 + drift_per_round * at) * (1 + slower if code == "B" else 1)
            rows[code].append(round_of(centre, old_ns / 1000))
            at += 1
    return tuple(
        derive(replace(timed([1e6]), samples_ns=tuple(rows[code]), process=tuple(range(len(rows[code])))))
        for code in "AB"
    )


@pytest.mark.parametrize("pair", range(4))
def test_both_codes_take_as_many_rounds_and_stand_next_to_each_other(pair) -> None:
    order = turns(pair)
    assert order.count("A") == order.count("B") == ROUNDS_EACH
    assert all({first, second} == {"A", "B"} for first, second in zip(order[::2], order[1::2], strict=True))


def test_a_steady_drift_cancels_between_both_codes() -> None:
    old, new = in_turns(1e6, slower=0.0, drift_per_round=0.01)
    assert abs(sum(differences(old.samples_ns, new.samples_ns))) < 0.01
    assert judge_paired(old, new, POLICY).verdict == "within_noise"


@pytest.mark.parametrize(("slower", "verdict"), [(0.05, "regressed"), (-0.05, "improved"), (0.015, "within_noise")])
def test_a_change_beyond_spread_and_tolerance_is_one(slower, verdict) -> None:
    found = judge_paired(*in_turns(1e6, slower=slower), POLICY)
    assert found.verdict == verdict
    assert found.delta_pct == pytest.approx(100 * slower)
    assert found.baseline == pytest.approx(1.0)
    assert found.decided_by == "tolerance"


def test_all_that_is_known_of_a_paired_change_is_told() -> None:
    found = judge_paired(*in_turns(2e6, slower=0.05), POLICY)
    assert found == Change(
        metric="latency",
        verdict="regressed",
        unit="ms",
        better="lower",
        baseline=pytest.approx(2.0),
        candidate=pytest.approx(2.1),
        delta=pytest.approx(0.1),
        delta_pct=pytest.approx(5.0),
        decided_by="tolerance",
        threshold=pytest.approx(0.04),
        iqr_baseline=pytest.approx(0.0, abs=1e-9),
        iqr_candidate=pytest.approx(0.0, abs=1e-9),
        detectable_pct=pytest.approx(2.0),
    )


def test_samples_that_are_none_make_the_pair_incomparable_and_say_why() -> None:
    old, new = in_turns(1e6, slower=0.0)
    broken = replace(new, samples_ns=((float("nan"),) * 30, *new.samples_ns[1:]))
    found = judge_paired(old, broken, POLICY)
    assert (found.metric, found.verdict, found.unit, found.better) == ("latency", "incomparable", "ms", "lower")
    assert "NaN" in found.reason
    assert judge_paired(broken, new, POLICY).reason == found.reason


def test_a_side_that_lost_rounds_is_judged_by_the_pairs_that_are_left() -> None:
    old, new = in_turns(1e6, slower=0.05)
    shorter = replace(new, samples_ns=new.samples_ns[:20], process=new.process[:20])
    assert judge_paired(old, shorter, POLICY).delta_pct == pytest.approx(5.0)


def test_of_pairs_that_are_faster_and_slower_the_nearest_to_no_change_leads() -> None:
    assert alike([-0.4, 0.01, 0.02, 0.03], range(4)) == [0.01, 0.02, 0.03]
    assert alike([-0.1, -0.1, -0.1, 0.5], range(4)) == [-0.1, -0.1, -0.1]
    assert alike([], []) == []


def test_differences_that_scatter_widen_the_bound() -> None:
    old, _ = in_turns(1e6, slower=0.0)
    rows = [round_of(1e6 * (1.0 if place % 2 else 1.1), 100.0) for place in range(len(old.process))]
    found = judge_paired(old, replace(old, samples_ns=tuple(rows)), POLICY)
    assert (found.verdict, found.decided_by) == ("within_noise", "iqr")


def on_other_cores(slower: float, *pairs: int, factor: float = 1.7):
    """Rounds of both codes; in some pairs of starts the new code's core is slower by a factor."""
    old, new = in_turns(1e6, slower=slower)
    starts = tuple(place // ROUNDS_EACH for place in range(len(new.process)))
    rows = tuple(
        tuple(factor * ns for ns in row) if start in pairs else row
        for row, start in zip(new.samples_ns, starts, strict=True)
    )
    return replace(old, process=starts), replace(new, process=starts, samples_ns=rows)


@pytest.mark.parametrize("pairs", [(0,), (2, 5), (1, 3, 4)])
def test_pairs_on_cores_of_different_kinds_do_not_hide_a_change(pairs) -> None:
    found = judge_paired(*on_other_cores(0.05, *pairs), POLICY)
    assert (found.verdict, found.decided_by) == ("regressed", "tolerance")
    assert found.delta_pct == pytest.approx(5)
    assert found.reason.startswith(f"{len(pairs) * ROUNDS_EACH} of 24 pairs of rounds set aside")


@pytest.mark.parametrize("pairs", [(0,), (2, 5), (1, 3, 4), (0, 1, 2, 3)])
def test_pairs_on_cores_of_different_kinds_fail_no_unchanged_code(pairs) -> None:
    assert judge_paired(*on_other_cores(0.0, *pairs), POLICY).verdict == "within_noise"


def test_a_change_of_any_size_that_all_pairs_share_is_kept() -> None:
    old, new = on_other_cores(4.0)
    found = judge_paired(old, new, POLICY)
    assert (found.verdict, found.reason) == ("regressed", None)
    assert found.delta_pct == pytest.approx(400)


def test_nothing_is_set_aside_where_every_pair_differs_as_cores_do() -> None:
    found = [0.7, 0.7, 0.7, -0.42, -0.42, -0.42]
    assert alike(found, range(6)) == found


def test_nothing_is_set_aside_where_two_pairs_would_be_left() -> None:
    assert alike([0.0, 0.0, 0.7, 0.7], [0, 1, 2, 3]) == [0.0, 0.0, 0.7, 0.7]


def test_two_pairs_of_rounds_are_shown_only() -> None:
    old, new = (timed([1e6 * ratio]) for ratio in (1, 2))
    found = judge_paired(old, new, POLICY)
    assert found.verdict == "inconclusive"
    assert found.reason == "too few pairs of rounds to judge by: measure more (--devperf-rounds)"


def test_paired_samples_that_are_none_are_incomparable() -> None:
    old, new = in_turns(1e6, slower=0.0)
    assert judge_paired(old, replace(new, samples_ns=()), POLICY).verdict == "incomparable"
    assert judge_paired(replace(old, samples_ns=()), new, POLICY).verdict == "incomparable"


# -- unchanged code, again and again ----------------------------------------------------------------


def repeated(*floors):
    return [record(timed([floor, 1.001 * floor, 1.002 * floor])) for floor in floors]


def test_quiet_repetitions_recommend_the_tolerance_there_is() -> None:
    (found,) = noise(repeated(1e6, 1.001e6, 1.002e6), POLICY)
    assert (found.repetitions, found.comparisons, found.suspects, found.false_alarms) == (3, 6, 0, 0)
    assert found.tolerance_pct == 2.0
    assert found.spread_pct == pytest.approx(0.2, abs=0.01)
    assert found.detectable_pct == pytest.approx(2.0, abs=0.1)


def test_all_that_repetitions_show_is_told() -> None:
    boxes = [record(scalars([value] * 3, kind="recorded")) for value in (100.0, 104.0, 102.0)]
    assert noise(boxes, Policy(tolerance={"boxes": 0.03})) == (
        Noise(
            metric="boxes",
            unit="boxes",
            repetitions=3,
            centre=102.0,
            starts_pct=pytest.approx(0.0),
            runs_pct=pytest.approx(100 * 2 / 102),
            spread_pct=pytest.approx(100 * 4 / 102),
            comparisons=6,
            suspects=1,
            false_alarms=1,
            detectable_pct=pytest.approx(3.0),
            tolerance_pct=4.0,
        ),
    )


def test_a_tolerance_is_recommended_in_whole_steps_and_only_if_one_is_needed() -> None:
    (steady,) = noise(repeated(1e6, 1.019e6), POLICY)
    assert steady.tolerance_pct == 2.0
    (two,) = noise([record(timed([1e6], per_start=12)) for _ in range(2)], POLICY)
    assert two.starts_pct is None


def test_two_starts_tell_how_starts_differ() -> None:
    (found,) = noise([record(timed([1e6, 1.02e6], per_start=6)) for _ in range(2)], POLICY)
    assert found.starts_pct == pytest.approx(100 * 0.02 / 2**0.5 / 1.01)


def test_the_nearest_repetition_confirms_and_of_two_as_near_the_later() -> None:
    # The second is confirmed by the third; the third by the fourth, unless that is what it is compared with.
    (found,) = noise(repeated(1e6, 1.05e6, 1.05e6, 1e6, 1e6), POLICY)
    assert (found.suspects, found.false_alarms) == (6, 4)


def test_without_confirming_two_repetitions_raise_alarms() -> None:
    (found,) = noise(repeated(1e6, 1.05e6), Policy(confirm=False))
    assert (found.suspects, found.false_alarms) == (1, 1)


def test_a_level_that_lasts_is_a_false_alarm_and_recommends_a_tolerance_that_holds_it() -> None:
    (found,) = noise(repeated(1e6, 1.051e6, 1.051e6, 1.05e6), POLICY)
    assert (found.suspects, found.false_alarms, found.tolerance_pct) == (3, 3, 5.5)
    (tolerant,) = noise(repeated(1e6, 1.051e6, 1.051e6, 1.05e6), Policy(tolerance={"*": found.tolerance_pct / 100}))
    assert tolerant.suspects == 0


def test_a_level_that_does_not_come_back_is_a_suspect_alone() -> None:
    (found,) = noise(repeated(1e6, 1.05e6, 1e6), POLICY)
    assert (found.suspects, found.false_alarms) == (2, 0)
    (alone,) = noise(repeated(1e6, 1.05e6), POLICY)
    assert (alone.suspects, alone.false_alarms) == (1, 0)


def test_waits_for_a_cpu_are_taken_off_the_repetition_that_confirms_too() -> None:
    waited = timed([1.1e6] * 3)
    waited = derive(replace(waited, ran_ns=(round(30 * 1e6),) * len(waited.process)))
    (found,) = noise([*repeated(1e6, 1.05e6), record(waited)], POLICY)
    assert found.false_alarms == 0


def test_spread_within_repetitions_is_told_from_spread_between_them() -> None:
    (starts,) = noise([record(timed([1e6, 1.02e6, 1.04e6])) for _ in range(3)], POLICY)
    assert starts.starts_pct == pytest.approx(1.96, abs=0.05)
    assert starts.runs_pct == 0
    (runs,) = noise([record(timed([floor] * 3)) for floor in (1e6, 1.02e6, 1.04e6)], POLICY)
    assert runs.starts_pct == 0
    assert runs.runs_pct == pytest.approx(1.96, abs=0.05)


def test_the_recommended_tolerance_of_a_metric_suits_every_case() -> None:
    quiet, loud = noise(repeated(1e6, 1.001e6), POLICY), noise(repeated(1e6, 1.069e6), POLICY)
    assert recommended({"a": quiet, "b": loud, "c": quiet}) == {"latency": 7.0}


def test_the_anchor_is_used_where_it_is_the_same_throughout() -> None:
    levels = ((1e6, 5000), (1.05e6, 5250), (1.05e6, 5250))
    anchored = [
        record(timed([floor] * 3, anchors_ns=at), run_context=RunContext(anchor=ANCHOR)) for floor, at in levels
    ]
    assert noise(anchored, POLICY)[0].false_alarms == 0
    assert noise(anchored, Policy(anchor=False))[0].false_alarms == 2


def test_every_metric_that_was_measured_twice_is_summed_up() -> None:
    both = record(timed([1e6] * 3), scalars([10.0] * 3))
    assert [each.metric for each in noise([both, both, record(timed([1e6] * 3), outcome="failed")], POLICY)] == [
        "latency",
        "peak_memory",
    ]
    assert noise([both], POLICY) == ()

"""Old and new code in turns: pairs of process starts, and the rule look by look."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rule_samples import round_of, scalars, timed

from pytest_devperf.compare.in_turns.case import judge_in_turns
from pytest_devperf.compare.in_turns.metric import LOOKS, MANY, MANY_LOOKS, judge_pairs, level_of, looks_of
from pytest_devperf.compare.in_turns.pairs import ROUNDS, Pair, alike, pairs_of, rounds_of_next, turns
from pytest_devperf.compare.policy import Policy
from pytest_devperf.record.derived import derive
from pytest_devperf.record.record import Change

POLICY = Policy()


def in_turns(
    slower: float,
    *,
    pairs: int = 4,
    old_ns: float = 1e6,
    drift_per_round: float = 0.0,
    starts: tuple[float, ...] = (),
    rounds: int = ROUNDS,
    width: float = 0.001,
):
    """Rounds of both codes in the order of `turns`, on a machine that drifts steadily.

    Args:
        slower: The new code, as a fraction.
        pairs: Pairs of process starts.
        old_ns: What a call of the old code takes.
        drift_per_round: How much slower the machine gets with every round, as a fraction.
        starts: How much slower the new code's start of each pair is for its layout alone; none: not at all.
        rounds: Rounds of each code in a pair.
        width: Interquartile range of a round, as a fraction.
    """
    rows: dict[str, list] = {"A": [], "B": []}
    process: list[int] = []
    at = 0
    for pair in range(pairs):
        layout = starts[pair] if starts else 0.0
        for code in turns(pair, rounds):
            factor = (1 + slower) * (1 + layout) if code == "B" else 1
            rows[code].append(round_of(old_ns * (1 + drift_per_round * at) * factor, width * old_ns))
            at += 1
        process += [pair] * rounds
    return tuple(derive(replace(timed([1e6]), samples_ns=tuple(rows[code]), process=tuple(process))) for code in "AB")


def verdict(*sides, policy: Policy = POLICY, most: int | None = None) -> str:
    return judge_pairs(*sides, policy, most=most).change.verdict


# -- pairs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("pair", range(4))
def test_both_codes_take_as_many_rounds_and_stand_next_to_each_other(pair, rounds) -> None:
    order = turns(pair, rounds)
    assert order.count("A") == order.count("B") == rounds
    assert all({first, second} == {"A", "B"} for first, second in zip(order[::2], order[1::2], strict=True))


def test_the_code_that_comes_first_alternates() -> None:
    assert [turns(pair)[0] for pair in range(4)] == ["A", "B", "A", "B"]


def test_a_pair_is_the_better_round_of_each_code() -> None:
    assert Pair(old=(1.0, 2.0), new=(4.0, 1.5)).difference == pytest.approx(math.log(1.5))


def test_the_centres_are_those_of_the_faster_halves() -> None:
    old, new = in_turns(0.10)
    hit = tuple((*row[:16], *(10 * value for value in row[16:])) for row in new.samples_ns)
    assert pairs_of(old, replace(new, samples_ns=hit), POLICY).all == pairs_of(old, new, POLICY).all


def test_waits_for_a_cpu_are_taken_off() -> None:
    old, new = in_turns(0.10)
    ran = replace(new, ran_ns=tuple(round(30 * 1e6) for _ in new.process))
    assert pairs_of(old, ran, POLICY).all[0].difference == pytest.approx(0.0, abs=1e-9)


def test_steady_pairs_go_on_with_one_round_of_each_code() -> None:
    steady = [Pair(old=(1.0, 1.0), new=(1.1, 1.1))] * 3
    unsteady = [Pair(old=(1.0, 1.0), new=(1.1, 1.2))] * 3
    assert (rounds_of_next([]), rounds_of_next(steady), rounds_of_next(unsteady)) == (2, 1, 2)
    assert rounds_of_next([Pair(old=(1.0,), new=(1.1,))]) == 2


def test_pairs_that_are_steady_within_need_no_wide_rounds() -> None:
    # Rounds scatter by 30 %, and yet the two differences of each pair are alike.
    assert pairs_of(*in_turns(0.0, width=0.3), POLICY).iqr < 0.01


def test_narrow_rounds_need_no_steady_pairs() -> None:
    old, new = in_turns(0.0, width=0.01)
    jumping = tuple(tuple(1.2 * ns for ns in row) if place % 2 else row for place, row in enumerate(new.samples_ns))
    assert pairs_of(old, replace(new, samples_ns=jumping), POLICY).iqr == pytest.approx(0.005, rel=0.3)


def pair(difference: float) -> Pair:
    return Pair(old=(1.0,), new=(1 + difference,))


def test_of_pairs_that_are_faster_and_slower_the_nearest_to_no_change_leads() -> None:
    assert alike([pair(-0.4), pair(0.01), pair(0.02), pair(0.03)]) == (pair(0.01), pair(0.02), pair(0.03))
    assert alike([pair(-0.1)] * 3 + [pair(0.5)]) == (pair(-0.1),) * 3
    assert alike([]) == ()


@pytest.mark.parametrize(
    "found", [[0.7, 0.7, 0.7, -0.42, -0.42, -0.42], [0.0, 0.0, 0.7, 0.7]], ids=["all-as-cores", "two-left"]
)
def test_nothing_is_set_aside_if_too_little_would_be_left(found) -> None:
    assert alike(list(map(pair, found))) == tuple(map(pair, found))


# -- the rule, look by look -------------------------------------------------------------------------


@pytest.mark.parametrize("looks", [LOOKS, MANY_LOOKS])
def test_all_looks_together_spend_no_more_than_the_chance_there_is(looks) -> None:
    assert sum(looks.values()) <= 1
    assert list(looks) == sorted(looks)
    assert looks[3] == 0


def test_pairs_that_the_user_names_are_the_last_look_and_spend_what_is_left() -> None:
    assert looks_of(1) == LOOKS
    assert looks_of(MANY + 1) == MANY_LOOKS
    assert looks_of(1, most=100) == LOOKS
    cut = looks_of(1, most=10)
    assert list(cut) == [3, 4, 6, 9, 10]
    assert sum(cut.values()) == pytest.approx(1.0)
    assert looks_of(1, most=2) == {2: 0}


def test_metrics_that_are_judged_together_share_their_chance() -> None:
    assert (level_of(1), level_of(8)) == (0.005, 0.005)
    assert level_of(100) == pytest.approx(0.0004)


def test_unchanged_code_is_done_after_three_pairs() -> None:
    found = judge_pairs(*in_turns(0.0, pairs=3), POLICY)
    assert (found.change.verdict, found.pairs, found.next_look) == ("within_noise", 3, None)


def test_three_pairs_call_nothing_slower() -> None:
    found = judge_pairs(*in_turns(0.10, pairs=3), POLICY)
    assert (found.change.verdict, found.next_look) == ("suspect", 4)


@pytest.mark.parametrize(("slower", "word"), [(0.05, "regressed"), (-0.05, "improved"), (0.015, "within_noise")])
def test_a_change_beyond_spread_and_tolerance_is_one(slower, word) -> None:
    found = judge_pairs(*in_turns(slower), POLICY)
    assert (found.change.verdict, found.next_look) == (word, None)
    assert found.change.delta_pct == pytest.approx(100 * slower)
    assert found.change.baseline == pytest.approx(1.0)
    assert found.change.decided_by == "tolerance"


def test_a_steady_drift_cancels_between_both_codes() -> None:
    assert verdict(*in_turns(0.0, drift_per_round=0.001)) == "within_noise"
    assert verdict(*in_turns(0.05, pairs=6, drift_per_round=0.001)) == "regressed"


SCATTER = (0.03, -0.02, 0.01, -0.03, 0.02, -0.01, 0.0, 0.025, -0.025, 0.015, -0.015, 0.005) * 2


def test_starts_that_differ_take_more_pairs() -> None:
    found = judge_pairs(*in_turns(0.05, starts=SCATTER), POLICY)
    assert found.next_look == 6
    assert verdict(*in_turns(0.05, pairs=16, starts=SCATTER)) == "regressed"


def test_the_last_look_leaves_a_suspect() -> None:
    found = judge_pairs(*in_turns(0.03, pairs=4, starts=SCATTER), POLICY, most=4)
    assert (found.change.verdict, found.change.stopped_by, found.next_look) == ("suspect", "starts", None)


def test_pairs_whose_differences_hide_a_quarter_are_inconclusive_in_the_end() -> None:
    wild = tuple(20 * each for each in SCATTER)
    found = judge_pairs(*in_turns(0.0, pairs=4, starts=wild), POLICY, most=4)
    assert found.change.verdict == "inconclusive"
    assert "could not have been found" in found.change.reason
    assert judge_pairs(*in_turns(0.0, pairs=4, starts=wild), POLICY).next_look == 6


def test_two_pairs_are_shown_only() -> None:
    found = judge_pairs(*in_turns(1.0, pairs=2), POLICY, most=2)
    assert (found.change.verdict, found.next_look) == ("inconclusive", None)
    assert "too few pairs" in found.change.reason


def test_the_more_metrics_are_judged_together_the_more_pairs_each_takes() -> None:
    sides = in_turns(0.04, pairs=12, starts=tuple(each / 2 for each in SCATTER))
    assert verdict(*sides) == "regressed"
    assert verdict(*sides, policy=Policy(metrics=100_000)) == "suspect"


def test_everything_known_about_a_paired_change_is_reported() -> None:
    found = judge_pairs(*in_turns(0.05, old_ns=2e6), POLICY)
    assert found.change == Change(
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
        p=pytest.approx(0.0, abs=1e-6),
        level=pytest.approx(0.0002),
        pairs=4,
    )


def test_invalid_samples_make_the_pair_incomparable_with_a_reason() -> None:
    old, new = in_turns(0.0)
    broken = replace(new, samples_ns=((float("nan"),) * 30, *new.samples_ns[1:]))
    found = judge_pairs(old, broken, POLICY).change
    assert (found.metric, found.verdict, found.unit, found.better) == ("latency", "incomparable", "ms", "lower")
    assert "NaN" in found.reason
    assert judge_pairs(broken, new, POLICY).change.reason == found.reason


@pytest.mark.parametrize("side", [0, 1])
def test_paired_samples_that_are_missing_are_incomparable(side) -> None:
    sides = list(in_turns(0.0))
    sides[side] = replace(sides[side], samples_ns=())
    assert verdict(*sides) == "incomparable"


def test_a_side_that_lost_rounds_is_judged_by_the_pairs_that_are_left() -> None:
    old, new = in_turns(0.05, pairs=5)
    shorter = replace(new, samples_ns=new.samples_ns[:8], process=new.process[:8])
    found = judge_pairs(old, shorter, POLICY)
    assert (found.pairs, found.change.delta_pct) == (4, pytest.approx(5.0))


def on_other_cores(slower: float, *pairs: int, count: int = 6, factor: float = 0.7):
    """Rounds of both codes; in some pairs of starts the new code's core is slower."""
    return in_turns(slower, pairs=count, starts=tuple(factor if at in pairs else 0.0 for at in range(count)))


@pytest.mark.parametrize("pairs", [(0,), (2, 5), (1, 3)])
def test_pairs_on_cores_of_different_kinds_do_not_hide_a_change(pairs) -> None:
    found = judge_pairs(*on_other_cores(0.05, *pairs), POLICY).change
    assert (found.verdict, found.decided_by) == ("regressed", "tolerance")
    assert found.delta_pct == pytest.approx(5)
    assert found.reason.startswith(f"{len(pairs)} of 6 pairs of process starts set aside")


@pytest.mark.parametrize("pairs", [(0,), (2, 5), (1, 3, 4)])
def test_pairs_on_cores_of_different_kinds_fail_no_unchanged_code(pairs) -> None:
    assert verdict(*on_other_cores(0.0, *pairs)) == "within_noise"


def test_a_change_of_any_size_that_all_pairs_share_is_kept() -> None:
    found = judge_pairs(*in_turns(4.0), POLICY).change
    assert (found.verdict, found.reason) == ("regressed", None)
    assert found.delta_pct == pytest.approx(400)


# -- all metrics of a case --------------------------------------------------------------------------


def test_a_case_is_looked_at_again_as_long_as_one_of_its_metrics_is_open() -> None:
    old, new = in_turns(0.0)
    old_too, new_too = (replace(each, name="latency.decode") for each in in_turns(0.05, starts=SCATTER))
    found = judge_in_turns([new, new_too], [old, old_too], POLICY)
    assert (found.pairs, found.next_look, found.rounds) == (4, 6, 1)
    assert [change.verdict for change in found.changes] == ["within_noise", "suspect"]


def test_metrics_that_one_side_lacks_are_reported() -> None:
    old, new = in_turns(0.0)
    gone, come = replace(old, name="gone"), replace(new, name="come")
    found = judge_in_turns([new, come], [old, gone], POLICY)
    assert {change.metric: change.verdict for change in found.changes} == {
        "latency": "within_noise",
        "come": "new",
        "gone": "incomparable",
    }
    assert found.next_look is None


def test_a_case_is_inconclusive_if_one_of_its_metrics_could_not_be_seen() -> None:
    wild = tuple(20 * each for each in SCATTER)
    old, new = in_turns(0.0)
    old_too, new_too = (replace(each, name="latency.decode") for each in in_turns(0.0, starts=wild))
    found = judge_in_turns([new, new_too], [old, old_too], POLICY, most=4)
    assert [change.verdict for change in found.changes] == ["within_noise", "inconclusive"]
    assert found.verdict == "inconclusive"
    assert judge_in_turns([new], [old], POLICY).verdict == "within_noise"


def test_values_of_process_starts_are_judged_once() -> None:
    found = judge_in_turns([scalars([12.0] * 3)], [scalars([10.0] * 3)], POLICY)
    assert (found.changes[0].verdict, found.next_look, found.pairs) == ("regressed", None, 0)


# -- properties -------------------------------------------------------------------------------------

LAYOUTS = st.lists(st.floats(min_value=-0.2, max_value=0.2), min_size=4, max_size=24).map(tuple)


@given(LAYOUTS)
def test_what_is_slower_one_way_is_not_slower_the_other_way_round(layouts) -> None:
    old, new = in_turns(0.0, pairs=len(layouts), starts=layouts)
    assert not verdict(old, new) == verdict(new, old) == "regressed"


@settings(max_examples=5)
@given(st.integers(min_value=0, max_value=2**32))
def test_unchanged_code_is_called_slower_at_most_as_often_as_its_level(seed) -> None:
    draw = random.Random(seed)
    trials, wrong, policy = 150, 0, Policy(tolerance={"*": 0.0001})
    for _ in range(trials):
        layouts = tuple(draw.gauss(0, 0.03) for _ in range(max(LOOKS)))
        for look in LOOKS:
            found = judge_pairs(*in_turns(0.0, pairs=look, starts=layouts[:look]), policy)
            if found.next_look is None:
                break
        wrong += found.change.verdict == "regressed"
    # 0.5 % of 150 cases is less than one; eight come by chance in one of a million.
    assert wrong < 8

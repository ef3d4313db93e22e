"""The exact tests agree with scipy and with their definitions."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from pytest_devperf import stats

DISTINCT = st.lists(st.integers(-1000, 1000), min_size=2, max_size=30, unique=True)


@st.composite
def two_sides(draw) -> tuple[list[float], list[float]]:
    values = [float(value) for value in draw(DISTINCT)]
    cut = draw(st.integers(1, len(values) - 1))
    shuffled = draw(st.permutations(values))
    return shuffled[:cut], shuffled[cut:]


@given(two_sides())
def test_the_rank_sum_test_has_the_exact_p_of_scipy(sides) -> None:
    low, high = sides
    expected = reference.mannwhitneyu(high, low, alternative="greater", method="exact").pvalue
    assert stats.rank_sum_p(low, high) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=36, unique=True), st.data())
def test_the_signed_rank_test_has_the_exact_p_of_scipy(sizes, data) -> None:
    signs = data.draw(st.lists(st.sampled_from((-1, 1)), min_size=len(sizes), max_size=len(sizes)))
    found = [float(sign * size) for sign, size in zip(signs, sizes, strict=True)]
    expected = reference.wilcoxon(found, alternative="greater", method="exact").pvalue
    assert stats.signed_rank_p(found) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.floats(-100, 100), min_size=5, max_size=40))
def test_the_trimmed_t_test_has_the_p_of_scipy(values) -> None:
    centre, error, freedom = stats.trimmed_t(values)
    if error > 1e-9:  # without any spread scipy divides zero by zero
        expected = reference.ttest_ind(values, [0.0] * 50, trim=0.2, equal_var=False, alternative="greater").pvalue
        assert stats.chance_above(centre, error, freedom) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_without_trimming_it_is_the_t_test_of_one_sample() -> None:
    values = [0.5, 1.0, -0.2, 0.9]
    expected = reference.ttest_1samp(values, 0.0, alternative="greater").pvalue
    assert stats.chance_above(*stats.trimmed_t(values)) == pytest.approx(expected)


def test_a_ninth_value_far_away_moves_a_trimmed_mean_no_further_than_its_neighbour() -> None:
    near = stats.trimmed_t([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    far = stats.trimmed_t([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9e9])
    assert near == far


@pytest.mark.parametrize(("value", "p"), [(1.0, 0.0), (0.0, 1.0), (-1.0, 1.0)])
def test_differences_without_spread_are_certain(value, p) -> None:
    assert stats.chance_above(*stats.trimmed_t([value] * 4)) == p


@given(two_sides())
def test_values_below_all_others_are_counted_by_chance(sides) -> None:
    low, high = sides
    below = sum(value < min(high) for value in low)
    places = range(len(low) + len(high))
    if math.comb(len(places), len(low)) > 5000:
        return
    as_many = sum(set(range(below)) <= set(each) for each in itertools.combinations(places, len(low)))
    assert stats.all_above_p(low, high) == pytest.approx(as_many / math.comb(len(places), len(low)))


def test_interference_that_hides_a_shift_from_ranks_leaves_it_to_the_lower_end() -> None:
    calm, disturbed = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05], [1.2, 1.25, 1.3, 1.35, 1.4, 1.45]
    low, high = [*calm, *disturbed], [1.1 * value for value in (*calm, *disturbed, *calm)]
    assert stats.rank_sum_p(low, high) > 0.05
    assert stats.all_above_p(low, high) < 0.0025


@given(two_sides(), st.sampled_from((stats.rank_sum_p, stats.all_above_p)))
def test_ranks_do_not_depend_on_the_scale(sides, test) -> None:
    low, high = sides
    assert test(low, high) == test([math.exp(v / 300) for v in low], [math.exp(v / 300) for v in high])


@pytest.mark.parametrize("test", [stats.rank_sum_p, stats.all_above_p])
def test_equal_sides_and_empty_ones_prove_nothing(test) -> None:
    assert test([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]) >= 0.5
    assert test([], [1.0]) == test([1.0], []) == 1.0


def test_a_tie_never_helps() -> None:
    assert stats.rank_sum_p([1.0, 2.0, 3.0], [3.0, 4.0, 5.0]) >= stats.rank_sum_p([1.0, 2.0, 3.0], [3.1, 4.0, 5.0])
    assert stats.signed_rank_p([2.0, 2.0, -1.0]) == stats.signed_rank_p([2.0, 3.0, -1.0])
    assert stats.signed_rank_p([2.0, -2.0, 3.0]) >= stats.signed_rank_p([2.1, -2.0, 3.0])


def test_differences_of_zero_prove_nothing() -> None:
    assert stats.signed_rank_p([0.0, 0.0]) == 1.0
    assert stats.signed_rank_p([0.0, 1.0, 2.0]) == stats.signed_rank_p([1.0, 2.0])

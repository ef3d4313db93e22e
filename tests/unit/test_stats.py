from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf import stats


def clearly_higher(low, high, chance: float) -> bool:
    """The pooled t-test at a level."""
    p = stats.pooled_t_p(low, high)
    return p is not None and p < chance


FINITE = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)
POSITIVE = st.floats(min_value=1e-3, max_value=1e9)

CRITICAL = {1: 63.657, 2: 9.925, 3: 5.841, 4: 4.604, 7: 3.499, 10: 3.169, 30: 2.750, 120: 2.617}
"""One-sided 0.5 % points of Student's t from printed tables, by degrees of freedom."""


def test_the_median_of_an_even_number_of_values_is_the_mean_of_the_middle_two() -> None:
    assert stats.median([4, 1, 3, 2]) == 2.5


def test_quantiles_are_interpolated_between_neighbouring_ranks() -> None:
    assert stats.quantile([10, 20, 30, 40, 50], 0.1) == 14
    assert stats.quantile([7.0], 0.9) == 7.0


@pytest.mark.parametrize("read", [stats.median, lambda values: stats.quantile(values, 0.5)])
def test_no_values_have_no_middle(read) -> None:
    with pytest.raises(ValueError, match="no values"):
        read([])


@given(st.lists(FINITE, min_size=2, max_size=40))
def test_quartiles_are_those_of_the_inclusive_method(values) -> None:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    assert stats.iqr(values) == pytest.approx(high - low, abs=1e-6)
    assert stats.median(values) == pytest.approx(middle, abs=1e-6)


@given(st.lists(st.lists(FINITE, min_size=1, max_size=35), min_size=1, max_size=8))
def test_rounds_taken_together_are_rounds_taken_one_by_one(rows) -> None:
    centres, widths = stats.centres_and_widths(rows)
    assert centres == [stats.median(row) for row in rows]
    assert widths == pytest.approx([stats.iqr(row) for row in rows], abs=1e-6)


def test_the_iqr_of_short_rounds_is_that_of_their_medians() -> None:
    rows = [[1.0], [2.0], [3.0], [4.0], [5.0]]
    assert stats.within_iqr(rows, *stats.centres_and_widths(rows)) == 2.0


def test_the_coefficient_of_variation_uses_the_sample_deviation() -> None:
    assert stats.cov([9.0, 11.0]) == pytest.approx(math.sqrt(2) / 10)
    assert stats.cov([9.0]) is None
    assert stats.cov([-1.0, 1.0]) is None


def test_the_smallest_step_passes_over_equal_values_and_rounding() -> None:
    assert stats.smallest_step([0.3, 0.1 + 0.2, 0.5, 0.5, 1.0]) == pytest.approx(0.2)
    assert stats.smallest_step([5, 5]) is None


def test_hodges_lehmann_is_the_median_of_pair_means() -> None:
    assert stats.hodges_lehmann([1.0, 2.0, 9.0]) == 3.5


@pytest.mark.parametrize(("freedom", "t"), CRITICAL.items())
def test_critical_values_are_those_of_printed_tables(freedom, t) -> None:
    assert stats.student_critical(0.005, freedom) == pytest.approx(t, abs=6e-4)


@given(st.floats(min_value=-60, max_value=60), st.integers(min_value=1, max_value=400))
def test_tails_are_those_of_scipy(t, freedom) -> None:
    from scipy import stats as scipy_stats

    assert stats.student_above(t, freedom) == pytest.approx(scipy_stats.t.sf(t, freedom), rel=1e-8, abs=1e-300)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
@given(st.lists(POSITIVE, min_size=2, max_size=8), st.lists(POSITIVE, min_size=2, max_size=8))
def test_the_pooled_test_is_that_of_scipy(low, high) -> None:
    from scipy import stats as scipy_stats

    found = stats.pooled_t(low, high)
    assert found is not None
    if math.isfinite(found[0]) and statistics.pstdev(low + high) > 1e-6 * statistics.fmean(low + high):
        expected = scipy_stats.ttest_ind(high, low)
        assert found[0] == pytest.approx(expected.statistic, rel=1e-5, abs=1e-9)


def test_a_test_without_a_degree_of_freedom_finds_nothing() -> None:
    assert stats.pooled_t([1.0], [2.0]) is None
    assert stats.pooled_t([], [1.0, 2.0, 3.0]) is None
    assert not clearly_higher([1.0], [2.0], 0.005)


def test_without_variance_the_mean_alone_decides() -> None:
    assert clearly_higher([1.0, 1.0], [1.1, 1.1], 0.005)
    assert not clearly_higher([1.1, 1.1], [1.0, 1.0], 0.005)
    assert not clearly_higher([0.1 + 0.2] * 3, [0.3] * 2, 0.005)


@given(st.lists(POSITIVE, min_size=2, max_size=6), st.lists(POSITIVE, min_size=2, max_size=6))
def test_two_sides_are_never_both_clearly_higher(low, high) -> None:
    assert not (clearly_higher(low, high, 0.005) and clearly_higher(high, low, 0.005))


def test_the_p_value_of_equal_sides_is_one_half() -> None:
    assert stats.pooled_t_p([1.0, 2.0], [1.0, 2.0]) == pytest.approx(0.5)
    assert stats.pooled_t_p([1.0], [2.0]) is None

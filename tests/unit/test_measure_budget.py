"""How much of a plan fits into a case's budget."""

from __future__ import annotations

import pytest

from pytest_devperf.measure.budget import OVERRUN, Cost, Fit, fit

PLANNED = {"rounds": 12, "iterations": 30, "processes": 3, "max_time_s": 60.0, "fixed": True}


def slow(fewest_s: float) -> Cost:
    """A case whose three fewest rounds take this long."""
    return Cost(iteration_s=0.0, round_s=fewest_s / 3)


def test_a_case_with_a_baseline_may_overrun_its_budget_tenfold_and_no_further() -> None:
    limit_s = OVERRUN * 60.0
    assert fit(slow(limit_s), **PLANNED, judged=True) == Fit(rounds=3, iterations=30)
    assert fit(slow(limit_s + 1), **PLANNED, judged=True) == Fit(rounds=0, iterations=30, needs_s=limit_s + 1)


@pytest.mark.parametrize("fewest_s", [61.0, 600.0])
def test_a_case_without_a_baseline_may_not(fewest_s) -> None:
    assert fit(slow(fewest_s), **PLANNED, judged=False).needs_s == fewest_s


def test_the_fewest_rounds_that_fit_exactly_are_taken() -> None:
    assert fit(slow(60.0), **PLANNED, judged=False) == Fit(rounds=3, iterations=30)


def test_starts_are_paid_for_first() -> None:
    cost = Cost(iteration_s=0.1, start_s=10.0)
    assert fit(cost, **PLANNED, judged=False).rounds == 10


def test_iterations_are_cut_to_what_fits_beside_the_rests() -> None:
    cost = Cost(iteration_s=0.5, round_s=1.0)
    assert fit(cost, **{**PLANNED, "fixed": False}, judged=False) == Fit(rounds=12, iterations=8)


def test_the_fewest_iterations_are_enough() -> None:
    assert fit(Cost(iteration_s=1.0), **{**PLANNED, "fixed": False}, judged=False) == Fit(rounds=12, iterations=5)


def test_a_plan_that_fits_exactly_stays() -> None:
    assert fit(Cost(iteration_s=0.0, round_s=5.0), **PLANNED, judged=False) == Fit(rounds=12, iterations=30)


def test_nothing_fits_if_the_starts_alone_take_too_long() -> None:
    free = Cost(iteration_s=0.0, start_s=30.0)
    assert fit(free, **PLANNED, judged=False) == Fit(rounds=0, iterations=30, needs_s=90.0)
    short = Cost(iteration_s=0.0, round_s=0.5, start_s=1.0)
    assert fit(short, **{**PLANNED, "max_time_s": 5.0}, judged=False) == Fit(rounds=4, iterations=30)

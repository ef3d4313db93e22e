from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_devperf.case.plan import Plan
from pytest_devperf.measure.stability import ADVICE, converged, grade, round_cov

PLAN = Plan(min_rounds=5, patience=2, stability_target=0.03)


def test_the_spread_of_rounds_is_their_deviation_over_their_mean() -> None:
    assert round_cov([98.0, 102.0]) == pytest.approx(0.0283, abs=1e-4)
    assert round_cov([100.0]) is None


def test_steady_rounds_converge_once_the_fewest_are_done() -> None:
    assert not converged([100.0] * 4, PLAN)
    assert converged([100.0] * 5, PLAN)


def test_one_round_on_target_is_not_patient_enough() -> None:
    restless_then_calm = [100.0, 107.0, 100.0, 100.0, 100.0]
    assert not converged(restless_then_calm, PLAN)
    assert converged([*restless_then_calm, 100.0, 100.0], PLAN)


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_as_many_rounds_in_a_row_as_patience_asks_for_are_on_target(patience) -> None:
    plan = replace(PLAN, patience=patience, min_rounds=1)
    restless = [100.0, 107.0, 100.0]
    on_target = next(calm for calm in range(99) if (round_cov(restless + [100.0] * calm) or 1) <= 0.03)
    first = on_target + patience - 1
    assert not converged(restless + [100.0] * (first - 1), plan)
    assert converged(restless + [100.0] * first, plan)


@pytest.mark.parametrize(
    ("spread", "word"),
    [(0.03, "STABLE"), (0.031, "NOISY"), (0.06, "NOISY"), (0.061, "UNTRUSTWORTHY"), (None, "UNTRUSTWORTHY")],
)
def test_the_grade_shows_how_far_from_the_target_rounds_are(spread, word) -> None:
    assert grade(spread, 0.03) == word


def test_every_grade_but_the_best_shows_advice() -> None:
    assert {word for word, advice in ADVICE.items() if advice} == {"NOISY", "UNTRUSTWORTHY"}

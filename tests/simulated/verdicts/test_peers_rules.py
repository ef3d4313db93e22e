"""The peers' rules as formulas give what the peers themselves give on the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from pyperf._utils import is_significant
from pytest_benchmark.utils import parse_compare_fail
from scipy.stats import mannwhitneyu

from benchmarks.verdicts import peers

SHIFTS = (0.0, 0.005, 0.02, 0.049, 0.051, 0.12)


def pair(shift: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    base = draw.lognormal(0.0, 0.03, (12, 30)) * 1e6
    return base, base[::-1, ::-1] * (1 + shift)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("field", ["min", "median", "mean"])
def test_the_5_percent_rules_decide_as_pytest_benchmark_does(shift, field):
    check = parse_compare_fail(f"{field}:5%")
    base, now = pair(shift)
    statistic = {"min": np.min, "median": np.median, "mean": np.mean}[field]

    theirs = check.fails({field: float(statistic(now))}, {field: float(statistic(base))}) is not None

    assert peers.RULES[f"pytest-benchmark {field}:5%"](base, now) == theirs


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("seed", range(5))
def test_the_t_test_decides_as_pyperf_does_if_the_mean_is_higher(shift, seed):
    base, _ = pair(0.0, seed)
    now, _ = pair(0.0, seed + 100)
    now = now * (1 + shift)

    significant, _ = is_significant(list(base.ravel()), list(now.ravel()))

    assert peers.pyperf_t_test(base, now) == (significant and now.mean() > base.mean())


@pytest.mark.parametrize("seed", range(5))
def test_the_u_test_has_the_p_of_scipy_ties_included(seed):
    draw = np.random.default_rng(seed)
    a, b = np.round(draw.normal(10, 1, 12), 1), np.round(draw.normal(10.5, 1, 12), 1)

    p, _ = peers.mann_whitney(a, b, continuity=0.5)

    assert p == pytest.approx(mannwhitneyu(a, b, alternative="two-sided", method="asymptotic").pvalue)


def test_every_peer_finds_a_regression_of_a_fifth_and_none_an_improvement():
    base, now = pair(0.2)

    assert all(rule(base, now) for rule in peers.RULES.values())
    assert not any(rule(now, base) for rule in peers.RULES.values())


def test_asv_stays_silent_below_its_factor_of_1_1():
    base, now = pair(0.09)

    assert not peers.asv(base, now)

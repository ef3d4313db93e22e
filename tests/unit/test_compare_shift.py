"""Changes of level in a history of values."""

from __future__ import annotations

import builtins
import random

import pytest

from pytest_devperf.compare.shift import shifts
from pytest_devperf.errors import UsageError

ruptures = pytest.importorskip("ruptures")


def history(*levels: tuple[int, float], noise: float = 0.01, seed: int = 1) -> list[float]:
    """So many values of each level, with one percent of noise."""
    chance = random.Random(seed)
    return [level * (1 + chance.gauss(0, noise)) for count, level in levels for _ in range(count)]


def test_a_history_without_a_change_has_none() -> None:
    assert [shifts(history((30, 1.0), seed=seed)) for seed in range(20)] == [()] * 20


def test_a_slowdown_is_found_at_its_beginning() -> None:
    (shift,) = shifts(history((20, 1.0), (20, 1.05)))
    assert abs(shift.at - 20) <= 1
    assert shift.percent == pytest.approx(5, abs=1)


def test_up_and_down_again_are_two_changes() -> None:
    up, down = shifts(history((12, 1.0), (10, 1.1), (12, 1.0)))
    assert up.percent > 0 > down.percent
    assert up.after == down.before


def test_a_single_outlier_is_no_level() -> None:
    values = history((30, 1.0))
    values[15] = 1.3
    assert shifts(values) == ()
    values = history((30, 1.0))
    values[-1] = 1.3
    assert shifts(values) == ()


def test_values_without_noise_are_no_special_case() -> None:
    (shift,) = shifts([1.0] * 5 + [1.1] * 5)
    assert (shift.at, shift.before, shift.after) == (5, 1.0, 1.1)
    assert shifts([1.0] * 10) == ()


def test_a_change_below_the_tolerance_is_not_reported() -> None:
    quiet = history((20, 1.0), (20, 1.012), noise=0.001)
    assert shifts(quiet) == ()
    assert len(shifts(quiet, least=0.005)) == 1


def test_a_change_within_the_runs_own_iqr_is_none() -> None:
    values = history((12, 1.0), (12, 1.05))
    assert shifts(values, widths=[0.06] * 24) == ()
    assert len(shifts(values, widths=[0.01] * 24)) == 1


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 2.0], [0.0] * 10])
def test_too_few_values_and_zeros_have_no_levels(values) -> None:
    assert shifts(values) == ()


def test_a_missing_package_is_named_with_its_extra(monkeypatch) -> None:
    def without(name, *rest, **more):
        if name == "ruptures":
            raise ImportError("No module named 'ruptures'", name="ruptures")
        return real(name, *rest, **more)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"pip install 'pytest-devperf\[history\]'"):
        shifts([1.0] * 5 + [2.0] * 5)

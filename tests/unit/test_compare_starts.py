"""Whether a change exceeds what process starts differ by."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_samples import scalars, timed

from pytest_devperf.compare.rule.baseline import combine
from pytest_devperf.compare.rule.estimate import estimate
from pytest_devperf.compare.rule.machine import Exponent
from pytest_devperf.compare.rule.starts import (
    ALONE,
    TOGETHER,
    Floors,
    Ways,
    detectable,
    level_of,
    promising,
    prove,
    ways_of,
)


def plain(base, now) -> Ways:
    return Ways(Floors(list(base), list(now)), None, Exponent(), ratios=True)


def chance(base, now, sign: int = 1, least: float = 0.0) -> float:
    return prove(plain(base, now), sign, level=0.01, least=least, centre=0.25).p


@pytest.mark.parametrize(("metrics", "level"), [(0, ALONE), (1, ALONE), (14, TOGETHER / 14), (100, TOGETHER / 100)])
def test_metrics_that_are_judged_together_share_the_chance_of_a_false_alarm(metrics, level) -> None:
    assert level_of(metrics) == pytest.approx(min(ALONE, level))


def test_alike_starts_prove_nothing() -> None:
    assert chance([0.0, 0.01, 0.02], [0.0, 0.01, 0.02]) == 1.0


def test_starts_apart_prove_a_change_in_their_direction_alone() -> None:
    base, now = [0.01 * place for place in range(6)], [0.2 + 0.01 * place for place in range(6)]
    assert chance(base, now) < 0.01
    assert chance(base, now, sign=-1) == 1.0
    assert chance(now, base, sign=-1) < 0.01


def test_a_change_that_is_too_small_is_none_however_clear() -> None:
    base, now = [0.0] * 6, [0.009] * 6
    assert chance(base, now, least=0.01) == 1.0
    assert chance(base, now, least=0.008) < 0.01


def test_one_start_on_each_side_proves_nothing() -> None:
    assert chance([0.0], [1.0]) == 1.0


def test_more_starts_are_worth_taking_while_they_may_still_prove_it() -> None:
    scattered = [0.0, 0.05, 0.1]
    assert promising(plain(scattered, [0.05, 0.1, 0.15]), 1)
    assert not promising(plain(scattered, [0.05, 0.1, 0.15]), -1)
    assert not promising(plain(scattered, scattered), 1)


def test_the_anchor_is_used_if_every_round_has_one() -> None:
    floors, anchors = [1e6, 1.05e6, 1.1e6], [5000, 5250, 5500]
    side = estimate(timed(floors, anchors_ns=anchors))
    ways = ways_of(combine([side]), side, anchored=True)
    assert ways.calm is not None
    assert max(ways.calm.base) - min(ways.calm.base) == pytest.approx(0.0, abs=1e-9)
    assert max(ways.plain.base) - min(ways.plain.base) == pytest.approx(math.log(1.1))
    assert ways_of(combine([side]), side, anchored=False).calm is None


def test_values_without_logarithms_are_taken_as_they_are() -> None:
    below = estimate(scalars([-1.0, -2.0, -3.0], kind="recorded"))
    ways = ways_of(combine([below]), below, anchored=False)
    assert not ways.ratios
    assert list(ways.plain.now) == [-1.0, -2.0, -3.0]


def test_what_could_be_found_shrinks_with_starts_and_grows_with_their_scatter() -> None:
    narrow, wide = [0.01 * place for place in range(6)], [0.03 * place for place in range(6)]
    assert detectable(plain(narrow, narrow), starts=24, level=0.01) < detectable(
        plain(narrow, narrow), starts=6, level=0.01
    )
    assert detectable(plain(narrow, narrow), starts=6, level=0.01) < detectable(plain(wide, wide), starts=6, level=0.01)
    assert math.isinf(detectable(plain([0.0], [0.0]), starts=1, level=0.001))


# -- properties -----------------------------------------------------------------------------------------

FLOORS = st.lists(st.floats(min_value=-1, max_value=1), min_size=2, max_size=12)


@given(FLOORS, FLOORS, st.floats(min_value=-3, max_value=3))
def test_a_common_factor_changes_no_chance(base, now, shift) -> None:
    moved = chance([each + shift for each in base], [each + shift for each in now])
    assert moved == pytest.approx(chance(base, now), rel=1e-3, abs=1e-6) or min(moved, chance(base, now)) > 1e-6


@given(FLOORS, FLOORS)
def test_never_are_both_directions_proven(base, now) -> None:
    assert not (chance(base, now) < ALONE and chance(base, now, sign=-1) < ALONE)


@settings(max_examples=5)
@given(st.integers(min_value=0, max_value=2**32))
def test_unchanged_starts_are_proven_slower_at_most_as_often_as_the_level(seed) -> None:
    draw = random.Random(seed)
    level, trials = 0.05, 300
    wrong = 0
    for _ in range(trials):
        base, now = ([draw.gauss(0, 0.03) for _ in range(count)] for count in (12, 12))
        wrong += prove(plain(base, now), 1, level=level, least=0.0, centre=0.25).holds
    # Three tests share the level; 5 standard deviations above it no draw of this many lies.
    assert wrong / trials < level + 5 * math.sqrt(level * (1 - level) / trials)

"""How strongly a workload feels the machine, read off its process starts and their anchors."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf.compare.rule.machine import PRIOR_ERROR, Exponent, exponent, without

ANCHORS = (100.0, 104.0, 108.0, 112.0, 116.0, 120.0)


def felt(power: float, anchors=ANCHORS, scale: float = 1.0) -> tuple[list[float], list[float]]:
    return [scale * 1e6 * (anchor / 100) ** power for anchor in anchors], list(anchors)


@pytest.mark.parametrize("power", [0.6, 1.0, 1.5])
def test_starts_that_follow_their_anchors_show_the_exponent(power) -> None:
    found = exponent(felt(power))
    assert found.value == pytest.approx(power, abs=0.01)
    assert found.error < 0.05


def test_a_change_of_the_code_between_both_sides_is_no_slowness_of_the_machine() -> None:
    assert exponent(felt(1.2), felt(1.2, scale=1.5)).value == pytest.approx(1.2, abs=0.01)


@pytest.mark.parametrize(
    "points",
    [
        felt(1.3, anchors=(100.0,) * 6),
        felt(1.3, anchors=(100.0, 110.0)),
        felt(1.3, anchors=(100.0, 105.0, 110.0, 115.0)),
        felt(3.0),
        felt(-1.0),
        ([1e6, 1.4e6, 0.9e6, 1.3e6, 1.2e6, 0.8e6], list(ANCHORS)),
    ],
    ids=["steady", "two", "few", "too-strong", "reversed", "scattered"],
)
def test_if_nothing_is_to_be_seen_the_power_is_taken_for_one(points) -> None:
    assert exponent(points) == Exponent(1.0, PRIOR_ERROR)


def test_anchors_that_differ_by_no_more_than_their_own_noise_show_no_exponent() -> None:
    """Their noise makes the slope too flat: here half as steep as the workload is."""
    anchors = [5000 * (1 + 0.004 * place) for place in (-1, 1) * 6]
    floors = [1e6 * (anchor / 5000) ** 0.5 for anchor in anchors]
    found = exponent((floors, anchors))
    assert found.value > 0.9
    assert found.error > 0.2


def test_starts_that_scatter_are_weighed_with_what_is_known_beforehand() -> None:
    anchors = [100.0 + place for place in range(12)]
    scatter = (0.02, -0.02, -0.02, 0.02) * 3  # which follows no slope
    floors = [1e6 * (anchor / 100) ** 1.5 * math.exp(off) for anchor, off in zip(anchors, scatter, strict=True)]
    found = exponent((floors, anchors))
    assert 1.2 < found.value < 1.49
    assert 0.05 < found.error < PRIOR_ERROR


def test_without_the_machine_starts_of_the_same_code_are_alike() -> None:
    floors, anchors = felt(1.5)
    calm = without(floors, anchors, 1.5)
    assert calm == pytest.approx([calm[0]] * len(calm))


@given(
    st.lists(
        st.tuples(st.floats(min_value=1e3, max_value=1e9), st.floats(min_value=1e2, max_value=1e6)),
        min_size=1,
        max_size=20,
    ),
    st.floats(min_value=0.001, max_value=1000),
)
def test_the_unit_of_a_time_does_not_affect_the_exponent(points, factor) -> None:
    floors, anchors = ([each[side] for each in points] for side in (0, 1))
    one, many = exponent((floors, anchors)), exponent(([factor * floor for floor in floors], anchors))
    assert many.value == pytest.approx(one.value, rel=1e-3)
    assert 0 < many.error <= PRIOR_ERROR

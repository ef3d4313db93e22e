"""Parametrised configurations of one test, ranked in one session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

SWEEP = """
import pytest

def one(): pass
def two(): pass
def three(): pass

@pytest.mark.devperf(sweep="ways")
@pytest.mark.parametrize("way", [one, two, three], ids=["one", "two", "three"])
def test_ways(devperf, way):
    devperf(way)

def test_alone(devperf):
    devperf(one)
"""


@pytest.fixture
def sweep(suite: Suite) -> Suite:
    suite.pytester.makepyfile(test_ways=SWEEP)
    return suite


def test_configurations_are_ranked_and_the_winner_is_named(sweep: Suite) -> None:
    sweep.takes(one=1_200_000, two=1_000_000, three=1_500_000)
    result = sweep.run("--devperf", "--devperf-json=run.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "sweep test_ways.py::test_ways (ways)",
            "two *1.002 ms*",
            "one *1.202 ms* 20.0 %",
            "three *1.503 ms* 50.0 %",
            "winner: two, by 20.0 % and beyond noise",
            "devperf: 4 measured",
        ]
    )
    cases = sweep.cases()
    assert [case["sweep"] for case in cases.values()] == ["test_ways.py::test_ways (ways)"] * 3 + [None]
    # All rounds of all six process starts, where the case of its own converged.
    assert [len(case["metrics"][0]["process"]) for case in cases.values()] == [12, 12, 12, 5]
    assert set(cases["test_ways.py::test_ways[one]"]["metrics"][0]["process"]) == set(range(6))


def test_configurations_within_noise_have_no_winner(sweep: Suite) -> None:
    sweep.takes(one=1_010_000, two=1_000_000, three=1_500_000)
    result = sweep.run("--devperf")
    result.stdout.fnmatch_lines(["two * one", "one *1.0 % *two", "no winner: two and one do not differ beyond noise"])


def test_a_sweep_in_a_comparison_keeps_its_ranks(sweep: Suite) -> None:
    sweep.run("--devperf-save=base")
    sweep.takes(one=1_300_000)
    result = sweep.run("--devperf-compare=base")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*sweep test_ways.py::test_ways (ways)*", "no winner: t* and t* do not differ*"])


def test_a_sweep_without_a_name_is_refused(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_x="""
        import pytest
        @pytest.mark.devperf(sweep=" ")
        def test_x(devperf):
            devperf(len, [])
        """
    )
    result = suite.run("--devperf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR

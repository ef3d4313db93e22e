"""One line shows, before anything is measured, how much will be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

MARKED = """
import pytest
def work(): pass
@pytest.mark.devperf(rounds=4, processes=1)
def test_marked(devperf): devperf(work)
def test_plain(devperf): devperf(work)
def test_ordinary(): pass
"""


def plan_line(result: pytest.RunResult) -> str:
    """The line, without the seed, and as it was before it was broken to fit the terminal."""
    at = next(at for at, line in enumerate(result.outlines) if line.startswith("devperf plan: "))
    first, *others = result.outlines[at : result.outlines.index("", at)]
    return " ".join((first, *map(str.strip, others))).partition(", seed ")[0]


@pytest.mark.parametrize(
    ("words", "plan"),
    [
        ("--devperf", "2 cases, up to 4 to 12 rounds of 30 iterations in 1 to 3 process starts"),
        ("--devperf -k plain", "1 case, up to 12 rounds of 30 iterations in 3 process starts"),
        ("--devperf -k marked", "1 case, up to 4 rounds of 30 iterations in 1 process start"),
        ("--devperf-save=base -k plain", "1 case, up to 12 rounds of 30 iterations in 6 process starts"),
        ("--devperf --devperf-rounds=2 -k marked", "1 case, up to 2 rounds of 30 iterations in 1 process start"),
        ("--devperf --pdb", "2 cases, up to 4 to 12 rounds of 30 iterations in 1 process start"),
        (
            "--devperf-aa=2 -k plain",
            "1 case, 2 repetitions, each up to 12 rounds of 30 iterations in 3 process starts",
        ),
    ],
)
def test_the_plan_is_that_of_the_selected_cases(suite: Suite, words: str, plan: str) -> None:
    suite.pytester.makepyfile(test_it=MARKED)
    assert plan_line(suite.run(*words.split())) == f"devperf plan: {plan}"


def test_a_comparison_plans_as_many_iterations_as_its_baseline_has(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=MARKED)
    suite.run("--devperf-save=base", "--devperf-iterations=7")

    compared = "devperf plan: 1 case compared with base, up to 12 rounds of {} iterations in 3 process starts"
    assert plan_line(suite.run("--devperf-compare=base", "-k", "plain")) == compared.format(7)
    shown = suite.run("--devperf-compare=base", "-k", "plain", "--devperf-iterations=9")
    assert plan_line(shown) == compared.format(9)


@pytest.mark.parametrize("words", ["--devperf -k ordinary", "--devperf --collect-only", "--devperf -q"])
def test_there_is_no_plan_if_nothing_is_measured_or_pytest_is_quiet(suite: Suite, words: str) -> None:
    suite.pytester.makepyfile(test_it=MARKED)
    suite.run(*words.split()).stdout.no_fnmatch_line("devperf plan: *")

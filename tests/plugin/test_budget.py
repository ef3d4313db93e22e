"""`--devperf-budget`: a limit for the time of the whole session."""

from __future__ import annotations

import json
from typing import Any

import pytest

Suite = Any
"""The fixtures' own class; conftest files are not imported."""

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_sum(devperf, number):
    devperf(sum, range(100 + number))
"""


def test_a_session_ends_in_time_and_reports_what_was_left_out(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=TESTS)

    suite.takes(sum=1_000_000)
    result = suite.run("--devperf", "--devperf-processes=12", "--devperf-budget=0.001", "--devperf-json=run.json")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*the budget of 0.001 s*was spent: 3 cases had fewer process starts than planned*"])
    cases = json.loads((suite.path / "run.json").read_text())["runs"][0]["cases"]
    assert all(set(case["metrics"][0]["process"]) == {0} for case in cases)


@pytest.mark.parametrize("value", ["0", "-1", "nan", "soon", ""])
def test_a_budget_that_is_no_time_is_refused(suite: Suite, value: str) -> None:
    suite.pytester.makepyfile(test_it=TESTS)

    result = suite.run(f"--devperf-budget={value}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--devperf-budget*"])

"""The rule's steps in a session: early pass, confirmation, and what a suspect comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

COMPARE = ("--devperf-compare=base", "--devperf-json=run.json")


def _slow(suite: Suite) -> dict:
    return suite.cases()["test_two.py::test_slow"]


def test_a_suspect_that_does_not_repeat_passes_and_is_counted(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(**{f"slow@{process}": 1_300_000 for process in range(3)})
    result = two_cases.run(*COMPARE)
    assert result.ret == 0
    result.assert_outcomes(passed=3)
    assert two_cases.last_line(result) == "devperf: 1 SUSPECT, 1 within noise; compared with base"
    case = _slow(two_cases)
    assert case["comparison"]["verdict"] == "suspect"
    assert case["comparison"]["changes"][0]["confirmed"] is False
    assert set(case["metrics"][0]["confirmation"]["process"]) <= set(range(3, 9))


SLEEPS = """
_sleep = VirtualClock.sleep
def slept(self, seconds):
    with pathlib.Path("slept.txt").open("a") as file:
        print(seconds, file=file)
    _sleep(self, seconds)
VirtualClock.sleep = slept
"""


@pytest.mark.parametrize(("cooldown", "pauses"), [("auto", 1), ("off", 0)])
def test_suspects_are_measured_again_after_one_pause_unless_no_wait_is_wanted(
    two_cases: Suite, cooldown: str, pauses: int
) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(fast=1_300_000, slow=1_300_000)
    conftest = two_cases.path / "conftest.py"
    conftest.write_text(conftest.read_text() + SLEEPS)
    two_cases.run(*COMPARE, f"--devperf-cooldown={cooldown}")
    slept = two_cases.path / "slept.txt"
    assert (slept.read_text().split() if slept.exists() else []).count("10.0") == pauses


def test_a_suspect_that_repeats_is_regressed_and_confirmed(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(slow=1_300_000)
    result = two_cases.run(*COMPARE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["latency regressed: *; confirmed"])
    assert _slow(two_cases)["metrics"][0]["confirmation"]["process"] == sorted([*range(3, 9)] * 2)


def test_without_confirmation_the_first_look_decides(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(**{f"slow@{process}": 1_300_000 for process in range(3)})
    result = two_cases.run(*COMPARE, "--devperf-no-confirm")
    assert result.ret == 1
    assert _slow(two_cases)["metrics"][0]["confirmation"] is None


def test_one_slow_start_is_no_suspect(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(**{"slow@0": 1_300_000})
    result = two_cases.run(*COMPARE)
    assert result.ret == 0
    assert two_cases.last_line(result) == "devperf: 2 within noise; compared with base"


def test_a_case_that_is_certain_to_pass_needs_no_further_starts(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    result = two_cases.run(*COMPARE)
    assert result.ret == 0
    metric = _slow(two_cases)["metrics"][0]
    assert set(metric["process"]) == {0}
    assert metric["stop"] == "early-pass"


def test_a_run_that_is_saved_takes_all_its_rounds_even_if_it_is_certain_to_pass(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.run(*COMPARE, "--devperf-save=other")
    assert len(_slow(two_cases)["metrics"][0]["process"]) == 12


def test_sequential_order_reaches_the_same_verdicts(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(slow=1_300_000)
    result = two_cases.run(*COMPARE, "--devperf-order=sequential")
    assert two_cases.last_line(result) == "devperf: 1 REGRESSED, 1 within noise; compared with base"


def test_memory_is_measured_in_separate_starts_and_compared(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_two="""
        import pytest
        def slow(): pass
        @pytest.mark.devperf(memory=True)
        def test_slow(devperf): devperf(slow)
        """
    )
    suite.run("--devperf-save=base")
    result = suite.run(*COMPARE)
    assert result.ret == 0
    metrics = {metric["name"]: metric for metric in _slow(suite)["metrics"]}
    assert metrics["peak_memory"]["process"] == [3, 4, 5]
    assert metrics["peak_memory"]["robust"] == 20
    verdicts = {change["metric"]: change["verdict"] for change in _slow(suite)["comparison"]["changes"]}
    assert verdicts["peak_memory"] == verdicts["latency"] == "within_noise"


def test_the_plan_is_taken_from_the_baseline_unless_the_command_line_names_it(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base", "--devperf-iterations=7")
    two_cases.run(*COMPARE)
    assert {len(row) for row in _slow(two_cases)["metrics"][0]["samples_ns"]} == {7}
    result = two_cases.run(*COMPARE, "--devperf-iterations=9")
    assert result.ret == 1
    assert "INCOMPARABLE" in two_cases.last_line(result)


def test_a_workload_too_slow_for_its_budget_is_inconclusive_and_shows_what_it_needs(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base", "--devperf-rounds=3", "--devperf-processes=1")
    two_cases.takes(slow=60_000_000_000)
    result = two_cases.run(*COMPARE)
    assert "1 INCONCLUSIVE" in two_cases.last_line(result)
    assert "--devperf-max-time" in two_cases.flat(result)


def test_a_workload_too_slow_for_its_budget_reports_it_if_nothing_is_compared(two_cases: Suite) -> None:
    two_cases.takes(slow=60_000_000_000)
    result = two_cases.run("--devperf-save=base")
    assert result.ret == 0
    assert two_cases.last_line(result) == "devperf: 1 INCONCLUSIVE, 1 measured; saved as base"
    words = two_cases.flat(result)
    assert "::test_slow: latency: too slow for its budget: it needs --devperf-max-time=" in words

"""Unchanged code, measured repeatedly: the report of `--devperf-aa`, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite


def test_unchanged_code_is_summed_up_and_passes(two_cases: Suite) -> None:
    result = two_cases.run("--devperf-aa=4")
    assert result.ret == 0
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "*noise of unchanged code*",
            "false alarms: 0 of 24 comparisons (0.0 %); each of 4 repetitions*",
            "for the ini file:",
            "devperf_tolerance = latency=2%",
        ]
    )


def test_every_repetition_has_separate_process_starts(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_starts="""
        def work(): pass
        def test_work(devperf):
            devperf(work)
        """
    )
    # Indices 3 to 5 are the second repetition's: they alone are slow.
    suite.takes(**{f"work@{process}": 1_100_000 for process in (3, 4, 5)})
    result = suite.run("--devperf-aa=3")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  latency *0 of 6*10.5 %", "devperf_tolerance = latency=10.5%"])


def test_a_level_that_lasts_is_counted_as_false_alarms_and_fails_nothing(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_starts="""
        def work(): pass
        def test_work(devperf):
            devperf(work)
        """
    )
    suite.takes(**{f"work@{process}": 1_100_000 for process in range(6, 12)})
    result = suite.run("--devperf-aa=4")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["false alarms: 4 of 12 comparisons (33.3 %)*"])


def test_a_test_that_fails_in_a_later_repetition_fails(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_fails="""
        def work(): pass
        def test_work(devperf):
            devperf(work)
        """
    )
    suite.takes(**{"work@4": 0})
    result = suite.run("--devperf-aa=3")
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*process start 5*", "no case was measured twice*"])


@pytest.mark.parametrize("other", ["--devperf-compare=base", "--devperf-save=base", "--devperf-against=python"])
def test_repeating_refuses_to_compare_and_to_save(two_cases: Suite, other: str) -> None:
    result = two_cases.run("--devperf-aa=3", other)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--devperf-aa=3 measures unchanged code*omit {other.partition('=')[0]}*"])


@pytest.mark.parametrize("count", ["1", "0", "x"])
def test_fewer_than_two_repetitions_are_refused(two_cases: Suite, count: str) -> None:
    assert two_cases.run(f"--devperf-aa={count}").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.slow
def test_repetitions_on_this_machine_are_fresh_interpreters(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_here="""
        import os, pathlib
        def test_it(devperf):
            with pathlib.Path(__file__).with_name("starts.txt").open("a") as file:
                print(os.environ.get("PYTEST_DEVPERF_PROCESS", "-"), file=file)
            devperf(sorted, list(range(1000)))
        """
    )
    result = suite.run_here("--devperf-aa=2", "--devperf-rounds=6", "--devperf-iterations=5")
    assert result.ret == 0
    assert (suite.path / "starts.txt").read_text().split() == ["-", "1", "2", "3", "4", "5"]
    result.stdout.fnmatch_lines(["devperf_tolerance = latency=*%"])


def test_repeating_on_the_command_line_beats_a_comparison_of_the_ini_file(two_cases: Suite) -> None:
    two_cases.pytester.makeini(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\ndevperf_compare = base\ndevperf_save = base\n"
    )
    result = two_cases.run("--devperf-aa=2")
    assert result.ret == 0
    assert not two_cases.saved()

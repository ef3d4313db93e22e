"""A verdict is the outcome of its test: terminal, exit code, JUnit, --lf."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite


def test_unchanged_code_passes_after_a_save(two_cases: Suite) -> None:
    saved = two_cases.run("--devperf-save=base")
    assert saved.ret == 0
    result = two_cases.run("--devperf-compare=base")
    assert result.ret == 0
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["devperf: 2 within noise; compared with base"])


def test_a_slowdown_fails_its_own_test_alone(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(slow=1_250_000)
    result = two_cases.run("--devperf-compare=base", "--junitxml=junit.xml", "-v")
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["*test_slow REGRESSED*", "latency regressed: 1.00 -> 1.2? ms (+25.0 %), beyond the run's IQR of *"]
    )
    failures = ET.parse(two_cases.path / "junit.xml").getroot().iter("failure")
    assert [failure.get("message") for failure in failures] == [_message(result)]


def _message(result) -> str:
    line = next(line for line in result.outlines if line.startswith("latency regressed: "))
    assert "beyond the run's IQR of" in line or "beyond the tolerance" in line
    return line


def test_a_regressed_test_is_what_lf_runs_next(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(slow=1_250_000)
    two_cases.run("--devperf-compare=base")
    again = two_cases.run("--devperf-compare=base", "--lf")
    again.assert_outcomes(failed=1)


def test_a_speedup_is_reported_and_passes(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(slow=700_000)
    result = two_cases.run("--devperf-compare=base")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["devperf: 1 improved, 1 within noise; compared with base"])


@pytest.mark.parametrize("strict", [False, True])
def test_a_regression_of_an_expected_failure_is_an_expected_failure(suite: Suite, strict: bool) -> None:
    suite.pytester.makepyfile(
        test_x=f"""
        import pytest
        def slow(): pass
        @pytest.mark.xfail(strict={strict}, reason="known")
        def test_slow(devperf):
            devperf(slow)
        """
    )
    suite.run("--devperf-save=base")
    suite.takes(slow=2_000_000)
    result = suite.run("--devperf-compare=base")
    assert result.ret == 0
    result.assert_outcomes(xfailed=1)


def test_the_first_regression_ends_the_run_under_x(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(slow=2_000_000, fast=2_000_000)
    result = two_cases.run("--devperf-compare=base", "-x")
    assert result.ret == 1
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["devperf: 1 REGRESSED, 1 pending*"])


def test_a_tolerance_of_the_marker_is_beaten_by_the_command_line(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_t="""
        import pytest
        def slow(): pass
        @pytest.mark.devperf(tolerance="40%")
        def test_slow(devperf):
            devperf(slow)
        """
    )
    suite.run("--devperf-save=base")
    suite.takes(slow=1_250_000)
    assert suite.run("--devperf-compare=base").ret == 0
    assert suite.run("--devperf-compare=base", "--devperf-tolerance=latency=10%").ret == 1


def test_every_tolerance_that_is_given_counts(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(slow=1_250_000)
    result = two_cases.run("--devperf-compare=base", "--devperf-tolerance=latency=30%", "--devperf-tolerance=load=1%")
    assert result.ret == 0


def test_an_incomparable_case_passes_by_default(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(context={"throttled": True}, slow=2_000_000)
    passed = two_cases.run("--devperf-compare=base")
    # Nothing at all was compared: that is never a pass.
    assert passed.ret == 1
    passed.assert_outcomes(passed=3)
    passed.stdout.fnmatch_lines(["devperf: 2 INCOMPARABLE; NOTHING was compared with base"])
    failed = two_cases.run("--devperf-compare=base", "--devperf-fail-on-incomparable")
    failed.assert_outcomes(passed=1, failed=2)


def test_an_accepted_caution_no_longer_refuses(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(context={"throttled": True}, slow=2_000_000)
    result = two_cases.run("--devperf-compare=base", "--devperf-accept=throttled")
    result.assert_outcomes(passed=2, failed=1)

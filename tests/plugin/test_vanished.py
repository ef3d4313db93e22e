"""A comparison whose cases are no longer there fails: nothing that is gone passes a gate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

USAGE = pytest.ExitCode.USAGE_ERROR
COMPARE = "--devperf-compare=base"

BENCHMARKS = """
import pytest
{}
def fast(): return 1
def slow(): return 2
def test_fast(devperf): devperf(fast)
def test_slow(devperf): devperf(slow)
"""

VANISHED = {
    "a module that skips itself": BENCHMARKS.format("pytest.importorskip('no_such_module')"),
    "an empty file": "",
    "no file": None,
    "tests that became ordinary ones": "def test_fast(): pass\ndef test_slow(): pass\n",
}


@pytest.fixture
def benchmarks(suite: Suite) -> Suite:
    suite.pytester.makepyfile(test_bench=BENCHMARKS.format(""), test_unit="def test_ordinary(): pass")
    assert suite.run("--devperf-save=base").ret == 0
    return suite


def _vanish(suite: Suite, source: str | None) -> None:
    path = suite.path / "test_bench.py"
    if source is None:
        path.unlink()
    else:
        path.write_text(source)


@pytest.mark.parametrize("source", VANISHED.values(), ids=VANISHED)
def test_benchmarks_that_vanished_beside_ordinary_tests_are_missing_and_fail_the_run(
    benchmarks: Suite, source: str | None
) -> None:
    _vanish(benchmarks, source)
    result = benchmarks.run(COMPARE, "--devperf-json=run.json")
    assert result.ret == 1
    assert benchmarks.last_line(result) == "devperf: 2 MISSING; NOTHING was compared with base"
    result.stdout.fnmatch_lines(["MISSING test_bench.py::test_fast, test_bench.py::test_slow: in the baseline, but*"])
    (run,) = benchmarks.document()["runs"]
    assert (run["cases"], run["missing"]) == ([], ["test_bench.py::test_fast", "test_bench.py::test_slow"])


@pytest.mark.parametrize("option", ["--devperf-fail-on-missing", "--devperf-no-fail-on-missing"])
def test_nothing_compared_fails_whatever_the_option_for_missing_cases(benchmarks: Suite, option: str) -> None:
    _vanish(benchmarks, "")
    assert benchmarks.run(COMPARE, option).ret == 1


def test_nothing_at_all_collected_fails_a_comparison(benchmarks: Suite) -> None:
    _vanish(benchmarks, "")
    (benchmarks.path / "test_unit.py").unlink()
    result = benchmarks.run(COMPARE)
    assert result.ret == 1
    assert benchmarks.last_line(result) == "devperf: 2 MISSING; NOTHING was compared with base"


def test_a_file_as_baseline_is_missed_as_a_label_is(benchmarks: Suite) -> None:
    benchmarks.run("--devperf", "--devperf-json=base.json")
    _vanish(benchmarks, "")
    result = benchmarks.run("--devperf-compare=base.json")
    assert result.ret == 1
    assert "2 MISSING" in benchmarks.last_line(result)


def test_an_unknown_label_is_a_usage_error_without_any_case(benchmarks: Suite) -> None:
    _vanish(benchmarks, "")
    result = benchmarks.run("--devperf-compare=other")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*--devperf-compare=other: no run with this label*"])
    assert "passed" not in result.stdout.str()


def test_saving_the_label_it_compares_with_does_not_make_up_for_what_vanished(benchmarks: Suite) -> None:
    _vanish(benchmarks, "")
    saved = benchmarks.saved()
    result = benchmarks.run(COMPARE, "--devperf-save=base")
    assert result.ret == 1
    assert "NOTHING was compared with base" in benchmarks.last_line(result)
    assert benchmarks.saved() == saved


def test_cases_that_are_all_skipped_fail_a_comparison(benchmarks: Suite) -> None:
    _vanish(benchmarks, BENCHMARKS.format("pytestmark = pytest.mark.skip('not today')"))
    result = benchmarks.run(COMPARE)
    assert result.ret == 1
    assert benchmarks.last_line(result) == "devperf: 2 SKIPPED; NOTHING was compared with base"


def test_a_file_that_cannot_be_imported_interrupts_the_session_as_ever(benchmarks: Suite) -> None:
    _vanish(benchmarks, "import no_such_module")
    result = benchmarks.run(COMPARE)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*No module named 'no_such_module'*"])


def test_an_argument_that_matches_nothing_is_pytests_own_error(benchmarks: Suite) -> None:
    result = benchmarks.run("--devperf-compare=other", "test_bench.py::test_nowhere")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*not found: *test_nowhere*"])


# -- what the user left out ---------------------------------------------------------------------------


@pytest.mark.parametrize("narrow", [("-k", "ordinary"), ("-m", "not devperf"), ("--deselect=test_bench.py",)], ids=str)
def test_cases_that_the_user_deselected_all_pass(benchmarks: Suite, narrow: tuple[str, ...]) -> None:
    result = benchmarks.run(COMPARE, *narrow)
    assert result.ret == 0
    assert benchmarks.last_line(result) == "devperf: no case was measured and nothing was compared"


def test_cases_that_the_user_deselected_all_fail_if_the_user_asks_for_that(benchmarks: Suite) -> None:
    result = benchmarks.run(COMPARE, "-k", "ordinary", "--devperf-fail-on-missing")
    assert result.ret == 1
    assert benchmarks.last_line(result) == "devperf: 2 MISSING; NOTHING was compared with base"


def test_an_empty_selection_keeps_pytests_own_exit_code(benchmarks: Suite) -> None:
    result = benchmarks.run("--devperf-compare=other", "-k", "nowhere")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert benchmarks.last_line(result) == "devperf: no case was measured and nothing was compared"


def test_deselected_ordinary_tests_do_not_open_the_gate(benchmarks: Suite) -> None:
    _vanish(benchmarks, BENCHMARKS.format("").replace("test_slow", "test_renamed"))
    result = benchmarks.run(COMPARE, "-k", "not ordinary")
    assert result.ret == 1
    assert benchmarks.last_line(result) == "devperf: 1 MISSING, 1 NEW, 1 within noise; compared with base"


def test_cases_that_vanished_are_missing_though_others_are_deselected(benchmarks: Suite) -> None:
    source = "import pytest\n@pytest.mark.slow\ndef test_other(devperf): devperf(len, [])"
    _vanish(benchmarks, source)
    result = benchmarks.run(COMPARE, "-m", "not slow", "-W", "ignore")
    assert result.ret == 1
    assert benchmarks.last_line(result) == "devperf: 2 MISSING; NOTHING was compared with base"


def test_files_without_cases_are_compared_with_nothing(benchmarks: Suite) -> None:
    result = benchmarks.run(COMPARE, "test_unit.py")
    assert result.ret == 0
    assert benchmarks.last_line(result) == "devperf: no case was measured and nothing was compared"


@pytest.mark.parametrize("option", ["--ignore=test_bench.py", "--ignore-glob=*bench*"])
def test_files_that_the_user_ignores_are_not_missed(benchmarks: Suite, option: str) -> None:
    benchmarks.pytester.makepyfile(test_more="def work(): pass\ndef test_more(devperf): devperf(work)")
    benchmarks.run("--devperf-save=base", "--devperf-append", "test_more.py")
    result = benchmarks.run(COMPARE, option)
    assert result.ret == 0
    assert benchmarks.last_line(result) == "devperf: 1 within noise; compared with base"


def test_a_failed_case_alone_is_run_again_without_missing_the_others(benchmarks: Suite) -> None:
    benchmarks.pytester.makepyfile(test_more="def more(): pass\ndef test_more(devperf): devperf(more)")
    benchmarks.run("--devperf-save=base")
    benchmarks.takes(more=2_000_000)
    assert benchmarks.run(COMPARE).ret == 1
    benchmarks.takes()
    again = benchmarks.run(COMPARE, "--lf")
    assert again.ret == 0
    again.assert_outcomes(passed=1)


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan"])
def test_looking_at_a_suite_without_cases_misses_nothing(benchmarks: Suite, option: str) -> None:
    _vanish(benchmarks, "")
    result = benchmarks.run(COMPARE, option)
    assert result.ret == 0
    assert benchmarks.last_line(result) == "devperf: no case was measured and nothing was compared"


# -- sessions without cases that keep something --------------------------------------------------------


def test_a_session_without_cases_reports_that_nothing_was_saved(benchmarks: Suite) -> None:
    _vanish(benchmarks, "")
    saved = benchmarks.saved()
    result = benchmarks.run("--devperf-save=base")
    assert result.ret == 0
    assert benchmarks.last_line(result) == "devperf: no case was measured and nothing was saved as base"
    assert benchmarks.saved() == saved


def test_a_session_without_cases_leaves_no_document_of_an_earlier_one(benchmarks: Suite) -> None:
    benchmarks.run("--devperf", "--devperf-json=run.json")
    _vanish(benchmarks, "")
    benchmarks.run("--devperf", "--devperf-json=run.json")
    assert json.loads((benchmarks.path / "run.json").read_text())["runs"] == []

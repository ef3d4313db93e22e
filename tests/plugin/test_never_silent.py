"""A gate that cannot be met reports it and fails; it never passes silently."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Suite

USAGE = pytest.ExitCode.USAGE_ERROR
COMPARE = "--devperf-compare=base"


# -- baselines that are not there, or are not ours ---------------------------------------------------


def test_a_label_that_was_never_saved_is_a_usage_error_that_lists_what_there_is(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    result = two_cases.run("--devperf-compare=other")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*--devperf-compare=other: no run with this label for one (*'base' of one (*"])
    assert "passed" not in result.stdout.str()


def test_an_empty_store_is_a_usage_error_with_the_command_that_fills_it(two_cases: Suite) -> None:
    result = two_cases.run(COMPARE)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*is empty: save a run with --devperf-save=base first"])


def test_a_label_of_another_device_alone_is_refused_and_both_devices_are_named(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(model="two")
    result = two_cases.run(COMPARE)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*no run with this label for two (*has 'base' of one (*"])


def test_a_file_of_another_device_is_refused_and_both_devices_are_named(two_cases: Suite) -> None:
    two_cases.run("--devperf", "--devperf-json=run.json")
    two_cases.takes(model="two")
    result = two_cases.run("--devperf-compare=run.json")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*run.json has runs of another device (one (*this is two (*"])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "*there is no file *base.json: name a run document or a label*"),
        ("", "*base.json*"),
        ("{", "*base.json*"),
        ("[1, 2]", "*base.json*"),
        ('{"benchmarks": [], "machine_info": {}}', "*base.json*"),
        ('{"schema": "pytest-devperf/99", "runs": []}', "*base.json has version '99', not '1'*"),
        ('{"schema": "pytest-devperf/1", "runs": []}', "*base.json has no measured case*"),
    ],
    ids=["missing", "empty", "truncated", "list", "foreign", "newer", "no runs"],
)
def test_a_file_that_is_no_run_is_a_usage_error_that_names_it(
    two_cases: Suite, content: str | None, sentence: str
) -> None:
    if content is not None:
        (two_cases.path / "base.json").write_text(content)
    result = two_cases.run("--devperf-compare=./base.json")
    assert result.ret == USAGE
    errors = [line for line in result.errlines if line.startswith("ERROR")]
    assert len(errors) == 1
    result.stderr.fnmatch_lines([sentence])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_a_damaged_newest_run_is_refused_and_no_older_one_takes_its_place(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.run("--devperf-save=base", "--devperf-append")
    newest = two_cases.saved()[-1]
    newest.write_bytes(newest.read_bytes()[:500])
    result = two_cases.run(COMPARE)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines([f"*{newest.name}*"])


# -- cases that do not meet their baseline -----------------------------------------------------------


def test_a_renamed_case_is_missing_and_new_and_fails_the_run(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    source = two_cases.path / "test_two.py"
    source.write_text(source.read_text().replace("test_slow", "test_renamed"))
    two_cases.takes(slow=20_000_000)
    result = two_cases.run(COMPARE)
    assert result.ret == 1
    result.assert_outcomes(passed=3)
    assert two_cases.last_line(result) == "devperf: 1 MISSING, 1 NEW, 1 within noise; compared with base"
    result.stdout.fnmatch_lines(["*test_two.py::test_slow*"])


def test_a_missing_case_passes_if_the_user_allows_it(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    source = two_cases.path / "test_two.py"
    source.write_text(source.read_text().replace("test_slow", "test_renamed"))
    result = two_cases.run(COMPARE, "--devperf-no-fail-on-missing")
    assert result.ret == 0
    assert "1 MISSING" in two_cases.last_line(result)


def test_no_case_that_meets_its_baseline_fails_even_if_missing_ones_may_pass(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    source = two_cases.path / "test_two.py"
    source.write_text(source.read_text().replace("test_slow", "test_a").replace("test_fast", "test_b"))
    result = two_cases.run(COMPARE, "--devperf-no-fail-on-missing")
    assert result.ret == 1
    assert two_cases.last_line(result) == "devperf: 2 MISSING, 2 NEW; NOTHING was compared with base"


def test_cases_that_the_user_deselected_are_no_missing_ones(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    for words in (["-k", "fast"], ["--deselect=test_two.py::test_slow"], ["test_two.py::test_fast"]):
        result = two_cases.run(COMPARE, *words)
        assert result.ret == 0
        assert two_cases.last_line(result) == "devperf: 1 within noise; compared with base"
        assert "not selected: 1 case of base" in result.outlines
        assert not [line for line in result.outlines if "test_slow" in line]


def test_a_renamed_case_is_missing_beside_deselected_ones(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    source = two_cases.path / "test_two.py"
    source.write_text(source.read_text().replace("test_slow", "test_renamed"))
    result = two_cases.run(COMPARE, "-k", "renamed")
    assert two_cases.last_line(result).startswith("devperf: 1 MISSING, 1 NEW; ")
    result.stdout.fnmatch_lines(["MISSING test_two.py::test_slow: *", "not selected: 1 case of base"])


def test_deselected_cases_fail_the_run_if_the_user_requests_it(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    result = two_cases.run(COMPARE, "-k", "fast", "--devperf-fail-on-missing")
    assert result.ret == 1
    assert "1 MISSING" in two_cases.last_line(result)


CHANGED = {
    "an argument": ("devperf(work, 1)", "devperf(work, 2)"),
    "a keyword": ("devperf(work, x=1)", "devperf(work, x=2)"),
    "bytes of the same length": ("devperf(work, b'abc')", "devperf(work, b'abd')"),
    "a stated fact": ("devperf.workload(boxes=12); devperf(work)", "devperf.workload(boxes=13); devperf(work)"),
}


@pytest.mark.parametrize("changed", CHANGED)
def test_another_workload_is_incomparable_and_nothing_compared_fails(suite: Suite, changed: str) -> None:
    source = "def work(x=None): pass\ndef test_it(devperf): {}\n"
    before, after = CHANGED[changed]
    suite.pytester.makepyfile(test_it=source.format(before))
    suite.run("--devperf-save=base")
    (suite.path / "test_it.py").write_text(source.format(after))
    result = suite.run(COMPARE, "-v")
    assert result.ret == 1
    result.assert_outcomes(passed=1)
    assert suite.last_line(result) == "devperf: 1 INCOMPARABLE; NOTHING was compared with base"


def test_cases_that_all_failed_are_no_comparison(suite: Suite) -> None:
    suite.pytester.makepyfile("import os\ndef test_it(devperf): devperf(len, []); assert 'BREAK' not in os.environ")
    suite.run("--devperf-save=base")
    suite.pytester._monkeypatch.setenv("BREAK", "1")
    result = suite.run(COMPARE)
    assert result.ret == 1
    assert "NOTHING was compared with base" in suite.last_line(result)


def test_a_case_that_no_longer_measures_anything_is_reported(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    source = two_cases.path / "test_two.py"
    source.write_text(source.read_text().replace("assert devperf(slow) == 2", "pass"))
    result = two_cases.run(COMPARE)
    result.assert_outcomes(passed=3)
    assert two_cases.last_line(result) == "devperf: 1 INCOMPARABLE, 1 within noise; compared with base"


def test_a_case_that_never_measured_anything_is_counted_as_skipped(suite: Suite) -> None:
    suite.pytester.makepyfile("def test_it(devperf): pass")
    result = suite.run("--devperf")
    result.assert_outcomes(passed=1)
    assert suite.last_line(result) == "devperf: 1 SKIPPED"


def test_a_skipped_case_shows_the_reason_of_its_test(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="import pytest\ndef test_it(devperf): pytest.skip('no model here')")
    assert "SKIPPED test_it.py::test_it: no model here" in suite.run("--devperf").stdout.str()


# -- sessions that measure nothing -------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan", "--setup-only"])
def test_looking_at_a_suite_measures_nothing_and_reports_it(two_cases: Suite, option: str) -> None:
    result = two_cases.run("--devperf-compare=nothing", option)
    assert result.ret == 0
    assert two_cases.last_line(result) == "devperf: no case was measured and nothing was compared"


def test_an_empty_selection_reports_it_and_keeps_pytests_own_exit_code(two_cases: Suite) -> None:
    result = two_cases.run("--devperf", "-k", "nowhere")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert two_cases.last_line(result) == "devperf: no case was measured"


def test_ordinary_tests_alone_pass_and_report_that_nothing_was_measured(two_cases: Suite) -> None:
    result = two_cases.run("--devperf", "-k", "ordinary")
    assert result.ret == 0
    assert two_cases.last_line(result) == "devperf: no case was measured"


@pytest.mark.parametrize("workers", [("-n2",), ("-n", "2", "--dist=load"), ("--dist=each", "--tx=2*popen")])
def test_workers_beside_one_another_are_refused_before_anything_runs(
    two_cases: Suite, workers: tuple[str, ...]
) -> None:
    pytest.importorskip("xdist")
    result = two_cases.run("--devperf", *workers)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*pytest-xdist runs tests in parallel*-n0*"])
    assert "passed" not in result.stdout.str()


def test_without_measuring_workers_are_welcome(two_cases: Suite) -> None:
    pytest.importorskip("xdist")
    result = two_cases.run("-n2")
    assert result.ret == 0
    result.assert_outcomes(passed=3)


def test_a_named_target_that_can_run_nothing_fails_the_run(suite: Suite) -> None:
    suite.pytester.makepyfile("class Thing: pass\ndef test_it(devperf): devperf.load(Thing)")
    result = suite.run("--devperf")
    assert result.ret == 1
    result.assert_outcomes(skipped=1)


def test_a_target_that_nobody_knows_is_a_usage_error(two_cases: Suite) -> None:
    result = two_cases.pytester.runpytest_inprocess("--devperf", "--devperf-target=toaster")
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*--devperf-target=toaster: no such target*"])


def test_a_traced_process_is_refused_before_anything_is_measured(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    before = sys.getprofile()
    sys.setprofile(lambda *_: None)
    try:
        result = two_cases.pytester.runpytest_inprocess("--devperf-target=virtual", COMPARE)
    finally:
        sys.setprofile(before)
    assert result.ret == USAGE
    result.stderr.fnmatch_lines(["*traces this process, so every case would be incomparable*"])
    assert "passed" not in result.stdout.str()


# -- sessions that others end or take over ---------------------------------------------------------------

EXIT = "pytest.exit('no more', returncode={})"
LEAVES = {
    "a test": lambda suite, leave: _replace(suite, "assert devperf(slow) == 2", f"import pytest; {leave}"),
    "an ordinary test": lambda suite, leave: _replace(suite, "pass", f"import pytest; {leave}"),
    "a hook": lambda suite, leave: _extend(suite, f"def pytest_runtest_logreport(report): import pytest; {leave}"),
}


def _replace(suite: Suite, old: str, new: str) -> None:
    source = suite.path / "test_two.py"
    source.write_text(source.read_text().replace(old, new))


def _extend(suite: Suite, code: str, folder: str = ".") -> None:
    path = suite.path / folder / "conftest.py"
    path.write_text((path.read_text() if path.exists() else "") + f"\n\n{code}\n")


@pytest.mark.parametrize("leave", LEAVES.values(), ids=LEAVES)
@pytest.mark.parametrize("option", [COMPARE, "--devperf-save=other"])
def test_an_exit_with_0_is_no_success_of_a_gate_that_was_not_closed(two_cases: Suite, option: str, leave: Any) -> None:
    two_cases.run("--devperf-save=base")
    two_cases.takes(slow=2_000_000)  # so that it is not done in its first process start
    leave(two_cases, EXIT.format(0))
    result = two_cases.run(option)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "pending" in two_cases.last_line(result)


def test_another_exit_code_stands(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    LEAVES["a test"](two_cases, EXIT.format(7))
    assert two_cases.run(COMPARE).ret == 7


def test_an_exit_with_0_is_kept_if_nothing_is_compared_or_saved(two_cases: Suite) -> None:
    LEAVES["a test"](two_cases, EXIT.format(0))
    assert two_cases.run("--devperf").ret == 0


@pytest.mark.parametrize("option", [COMPARE, "--devperf-save=other"])
def test_a_case_run_by_another_plugin_is_reported_and_fails_the_session(suite: Suite, option: str) -> None:
    (suite.path / "t").mkdir()
    source = "def {0}(): pass\ndef test_{0}(devperf): devperf({0})\n"
    (suite.path / "t/test_it.py").write_text(source.format("mine") + source.format("theirs"))
    suite.run("--devperf-save=base")
    own_protocol = """
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    return bool(runtestprotocol(item, nextitem=nextitem)) if "theirs" in item.name else None
"""
    _extend(suite, own_protocol, "t")
    result = suite.run(option)
    assert result.ret == 1
    assert "1 pending" in suite.last_line(result)


def test_an_item_that_a_conftest_lists_twice_is_measured_once(two_cases: Suite) -> None:
    two_cases.run("--devperf-save=base")
    _extend(two_cases, "def pytest_collection_modifyitems(items): items[:] = items * 2")
    result = two_cases.run(COMPARE)
    assert result.ret == 0
    assert two_cases.last_line(result) == "devperf: 2 within noise; compared with base"


# -- readings that are no measurement ----------------------------------------------------------------


@pytest.mark.parametrize("duration", [float("nan"), float("inf"), 0, -5], ids=str)
def test_a_duration_that_cannot_be_one_fails_its_case_and_is_not_saved_as_good(
    two_cases: Suite, duration: float
) -> None:
    two_cases.takes(slow=duration)
    result = two_cases.run("--devperf-save=base", "--devperf-json=run.json")
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=1)
    assert "All traceback entries are hidden" not in result.stdout.str()
    none = "*of process start 1 gave a duration of *: a duration is a finite number above zero*"
    # A zero may be too short for the clock: more and more calls are timed together before it is given up.
    result.stdout.fnmatch_lines([none if duration else "*process start 1: the clock did not advance in *"])
    slow = two_cases.cases()["test_two.py::test_slow"]
    assert (slow["outcome"], slow["metrics"]) == ("failed", [])


@pytest.mark.parametrize("call", ["devperf(work)", "devperf.measure('it', work, setup=int)"], ids=["batched", "alone"])
def test_a_clock_that_stands_still_fails_its_case_and_does_not_hang(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr("pytest_devperf.targets.host.timing_loop.STILL_NS", 1)
    suite.pytester.makepyfile(f"def work(): pass\ndef test_it(devperf): {call}")
    _extend(
        suite, "class Still:\n    now_ns = staticmethod(lambda: 7)\n    sleep = staticmethod(lambda seconds: None)\n"
    )
    _extend(suite, "def pytest_devperf_clock(config): return Still()")
    arguments = ("--devperf", "--devperf-target=host", "--devperf-processes=1")
    result = suite.pytester.runpytest_inprocess(*arguments)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the session's clock stood still while work ran for 0 s: *pytest_devperf_clock*"])


def test_a_step_that_no_clock_has_fails_its_case(two_cases: Suite) -> None:
    _extend(two_cases, "VirtualRunner.tick_ns = 1e308")
    result = two_cases.run("--devperf-save=base")
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*the runner reports a clock step of 1e+308 ns, but timed * ns with it*"])


@pytest.mark.parametrize(
    "body",
    ["devperf(work); assert False", "devperf(work); raise OSError('x')", "devperf(broken)"],
    ids=["assertion", "error", "workload"],
)
def test_a_failed_test_leaves_no_measurement_behind(suite: Suite, body: str) -> None:
    suite.pytester.makepyfile(
        test_it=f"def work(): pass\ndef broken(): raise ValueError('broken')\ndef test_it(devperf): {body}\n"
    )
    result = suite.run("--devperf-save=base")
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    for path in suite.saved():
        (case,) = json.loads(path.read_text())["runs"][0]["cases"]
        assert (case["outcome"], case["metrics"]) == ("failed", [])


@pytest.mark.every_plugin
@pytest.mark.parametrize("measuring", [True, False], ids=["measuring", "once"])
def test_a_forgotten_await_is_refused(suite: Suite, measuring: bool) -> None:
    suite.pytester.makepyfile(
        test_it="""
        async def fetch(): return 1
        def call(): return fetch()
        async def test_forgotten(devperf): devperf(fetch)
        def test_made(devperf): devperf(call)
        """
    )
    arguments = ["--devperf", "--devperf-target=host", "--devperf-processes=1"] if measuring else []
    result = suite.pytester.runpytest_inprocess(*arguments, "-W", "error")
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*'latency' was never awaited, so nothing was measured*"])
    result.stdout.fnmatch_lines(["*await devperf(*"])

"""Without `--devperf` every case is an ordinary test that runs once; suites choose cases with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

COUNTED = """
import pathlib
import pytest

def note(name):
    with pathlib.Path(__file__).with_name("calls.txt").open("a") as file:
        file.write(name + "\\n")
    return name

def test_call(devperf):
    assert devperf(note, "call") == "call"

def test_named(devperf):
    setups = []
    assert devperf.measure("named", note, "named", setup=lambda: setups.append(1), sync=setups.append) == "named"
    assert setups == [1, "named"]

def test_load(devperf):
    assert devperf.load(note, "load") == "load"

def test_stream(devperf):
    assert devperf.stream(lambda: iter([note("stream")])) == ["stream"]

def test_record(devperf):
    devperf.record("boxes", 3.0, unit="1", better="higher")
    devperf.workload(boxes=3)

@pytest.mark.devperf
def test_marked():
    note("marked")

def test_ordinary():
    note("ordinary")
"""


def _calls(suite: Suite) -> list[str]:
    return (suite.path / "calls.txt").read_text().split()


def test_every_case_runs_once_and_nothing_of_ours_is_shown(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=COUNTED)
    result = suite.pytester.runpytest_inprocess()
    result.assert_outcomes(passed=7)
    assert _calls(suite) == ["call", "named", "load", "stream", "marked", "ordinary"]
    assert not [line for line in result.outlines if line.startswith("devperf")]
    assert not (suite.path / ".devperf").exists()


def test_a_coroutine_runs_once(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        calls = []
        async def fetch(x): calls.append(x); return x
        async def test_inside(devperf): assert await devperf(fetch, 1) == 1
        def test_outside(devperf): assert devperf(fetch, 2) == 2
        def test_count(): assert calls == [1, 2]
        """
    )
    suite.pytester.runpytest_inprocess().assert_outcomes(passed=3)


SUITES = """
import pytest
def work(): pass
def test_plain(devperf): devperf(work)
@pytest.mark.devperf_full
def test_full(devperf): devperf(work)
@pytest.mark.devperf(suite="full")
def test_suite(devperf): devperf(work)
@pytest.mark.devperf
def test_marked(): pass
def test_ordinary(): pass
"""

CHOSEN = [
    ((), {"plain", "full", "suite", "marked", "ordinary"}, {"plain", "marked", "ordinary"}),
    (("-m", "devperf"), {"plain", "full", "suite", "marked"}, {"plain", "marked"}),
    (("-m", "devperf_quick"), {"plain", "marked"}, {"plain", "marked"}),
    (("-m", "devperf_full"), {"full", "suite"}, {"full", "suite"}),
    (("-m", "not devperf"), {"ordinary"}, {"ordinary"}),
    (("-k", "suite"), {"suite"}, set()),
    (("test_it.py::test_suite",), {"suite"}, {"suite"}),
    (("--devperf-suite=full",), {"plain", "full", "suite", "marked", "ordinary"}, None),
]


@pytest.mark.parametrize(("chosen", "once", "measuring"), CHOSEN, ids=[" ".join(row[0]) or "all" for row in CHOSEN])
def test_markers_and_suites_choose_cases(
    suite: Suite, chosen: tuple[str, ...], once: set[str], measuring: set[str] | None
) -> None:
    suite.pytester.makepyfile(test_it=SUITES)
    assert _ran(suite, *chosen) == once
    assert _ran(suite, "--devperf", *chosen) == (once if measuring is None else measuring)


def _ran(suite: Suite, *args: str) -> set[str]:
    result = suite.run("-rA", "--devperf-processes=1", "--devperf-rounds=3", "--devperf-iterations=5", *args)
    return {line.rpartition("::test_")[2] for line in result.outlines if line.startswith("PASSED ")}


def test_full_cases_left_out_of_a_quick_run_are_deselected_and_not_missing(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=SUITES)
    assert suite.run("--devperf-save=base", "--devperf-suite=full").ret == 0
    result = suite.run("--devperf-compare=base")
    assert result.ret == 0
    assert result.parseoutcomes()["deselected"] == 2
    assert suite.last_line(result) == "devperf: 2 within noise; compared with base"


def test_strict_markers_know_ours(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=SUITES)
    result = suite.pytester.runpytest_inprocess("--strict-markers")
    result.assert_outcomes(passed=5)
    suite.pytester.runpytest_inprocess("--markers").stdout.fnmatch_lines(
        ["@pytest.mark.devperf(*", "@pytest.mark.devperf_quick:*", "@pytest.mark.devperf_full:*"]
    )

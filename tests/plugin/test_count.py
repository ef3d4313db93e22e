"""Instructions, counted by a real valgrind where there is one."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

needs_valgrind = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("valgrind") is None, reason="counts instructions with valgrind"
)

CASES = """
import pathlib

HERE = pathlib.Path(__file__).parent

def total(items):
    result = 0
    for item in items:
        result += item{change}
    return result

def test_changed(devperf):
    assert devperf(total, list(range(300))) == {result}

async def double(value):
    return 2 * value

def test_same(devperf):
    assert devperf(double, 4) == 8
    loaded = devperf.load(list, range(5000))
    assert devperf.measure("length", len, loaded) == 5000

def test_program(devperf):
    devperf.command(["sort", str(HERE / "words.txt")])
"""


@pytest.fixture
def counted_suite(suite: Suite) -> Suite:
    suite.path.joinpath("conftest.py").unlink()  # on this machine, not on the virtual device
    suite.path.joinpath("words.txt").write_text("b\na\n", encoding="ascii")
    return suite


@pytest.mark.slow
@needs_valgrind
def test_counts_repeat_and_a_regression_is_counted_again(counted_suite: Suite) -> None:
    suite = counted_suite
    suite.pytester.makepyfile(test_it=CASES.format(change="", result=sum(range(300))))
    saved = suite.run_here("--devperf-count=only", "--devperf-save=base", "--devperf-json=run.json")
    saved.assert_outcomes(passed=3)
    by_case = suite.cases()
    assert {
        name.partition("::")[2]: [metric["name"] for metric in case["metrics"]] for name, case in by_case.items()
    } == {
        "test_changed": ["instructions"],
        "test_same": ["instructions", "instructions.load", "instructions.length"],
        "test_program": ["instructions"],
    }
    for case in by_case.values():
        for metric in case["metrics"]:
            assert (metric["unit"], metric["kind"], metric["process"]) == ("Ir", "counted", [1, 1, 1])
            assert all(value > 0 for row in metric["samples"] for value in row)
            assert metric["iqr"] <= 0.01 * metric["robust"]
    assert by_case["test_it.py::test_changed"]["counting"]["tool"].startswith("valgrind-")

    suite.pytester.makepyfile(test_it=CASES.format(change=" + 1", result=sum(range(300)) + 300))
    compared = suite.run_here("--devperf-count=only", "--devperf-compare=base", "--devperf-json=run.json")
    compared.assert_outcomes(failed=1, passed=2)
    (sentence,) = {line for line in compared.outlines if line.startswith("instructions regressed: ")}
    values, bound = sentence.split(", beyond ")
    assert re.fullmatch(r"instructions regressed: [\d,.]+ -> [\d,.]+ Ir \(\+\d+\.\d\d %\)", values)
    assert bound == "the tolerance of 0.50 %; counted again"
    by_case = suite.cases()
    assert by_case["test_it.py::test_changed"]["metrics"][0]["confirmation"]["process"] == [2, 2, 2]
    for name in ("test_same", "test_program"):
        case = by_case[f"test_it.py::{name}"]
        assert case["comparison"]["verdict"] == "within_noise"
        assert all(metric["confirmation"] is None for metric in case["metrics"])


def _empty_path(suite: Suite) -> None:
    folder = suite.path / "no_programs"
    folder.mkdir()
    suite.pytester._monkeypatch.setenv("PATH", str(folder))


ONE_CASE = "def test_one(devperf):\n    devperf(len, 'x')\n"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere another sentence comes first")
@pytest.mark.parametrize("value", ["", "=only"])
def test_without_valgrind_the_command_line_is_refused_with_what_to_install(counted_suite: Suite, value: str) -> None:
    _empty_path(counted_suite)
    counted_suite.pytester.makepyfile(ONE_CASE)
    result = counted_suite.run_plain("--devperf", f"--devperf-count{value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line.startswith("ERROR: ")]
    assert line.startswith(
        "ERROR: --devperf-count: instructions are counted by valgrind, which is not on PATH: install"
    )
    assert "apt-get install valgrind" in line


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere another sentence comes first")
def test_an_ini_file_that_asks_for_counts_measures_time_without_valgrind_and_reports_it(counted_suite: Suite) -> None:
    suite = counted_suite
    _empty_path(suite)
    suite.ini("devperf_count = true")
    suite.pytester.makepyfile(ONE_CASE)
    result = suite.run_plain("--devperf", "--devperf-processes=1", "--devperf-json=run.json")
    result.assert_outcomes(passed=1)
    (case,) = suite.cases().values()
    assert [metric["name"] for metric in case["metrics"]] == ["latency"]
    assert case["cautions"].count("not-counted") == 1
    assert "instructions were not counted: instructions are counted by valgrind, which is not" in suite.flat(result)


def test_a_valgrind_that_does_not_work_is_named_with_its_last_line(counted_suite: Suite) -> None:
    suite = counted_suite
    program = suite.path / "bin" / "valgrind"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'valgrind: cannot find its tools' >&2\nexit 1\n", encoding="ascii")
    program.chmod(0o755)
    suite.pytester._monkeypatch.setenv("PATH", str(program.parent))
    suite.pytester.makepyfile(ONE_CASE)
    result = suite.run_plain("--devperf-count=only", "--devperf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{program} is no valgrind that works: valgrind: cannot find its tools" in result.stderr.str()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--devperf-count", "--devperf-aa=3"], "--devperf-aa=3 repeats measurements because time varies"),
        (["--devperf-count=only", "--devperf-target=virtual"], "--devperf-count=only counts on this machine"),
        (["--devperf-count=some"], "--devperf-count=some: must be only, or nothing"),
    ],
)
def test_what_contradicts_itself_is_refused(suite: Suite, words: list[str], sentence: str) -> None:
    suite.pytester.makepyfile(ONE_CASE)
    result = suite.run_plain("--devperf", *words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert sentence in result.stderr.str()


def test_a_marker_asks_for_counts_of_one_test_but_not_for_counts_alone(suite: Suite) -> None:
    suite.pytester.makepyfile(
        "import pytest\n@pytest.mark.devperf(count='only')\ndef test_one(devperf):\n    devperf(len, 'x')\n"
    )
    result = suite.run("--devperf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "count=True counts instructions of a test as well" in result.stderr.str()

"""Commands on this machine, as a user writes them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from conftest import Suite

HERE = ("--devperf-target=host", "--devperf-processes=2", "--devperf-json=run.json")

COMMANDS = """
import os, pathlib, subprocess, sys
import pytest

STARTS = pathlib.Path(__file__).with_name("starts.txt")
PYTHON = sys.executable

def test_whole(devperf):
    devperf.command([PYTHON, "-c", f"print(42); open({str(STARTS)!r}, 'a').write('x')"])

def test_lines(devperf):
    devperf.command([PYTHON, "-c", "import sys; print('1000\\\\n' * int(sys.argv[1]))", "{iterations}"])
"""

LEAVES = """
def test_leaves_one_behind(devperf):
    devperf.command(["/bin/sh", "-c", "sleep 293.71 & echo 1200; echo 1300"], read="lines")
"""


def latency(case: dict) -> dict:
    return next(metric for metric in case["metrics"] if metric["name"] == "latency")


@pytest.mark.slow
def test_a_command_without_iterations_is_timed_as_a_whole_with_a_caution(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=COMMANDS)

    result = suite.run_here("--devperf-save=base", "--devperf-rounds=6", *HERE)

    result.assert_outcomes(passed=2)
    cases = {each.rpartition("_")[2]: case for each, case in suite.cases().items()}
    whole, lines = latency(cases["whole"]), latency(cases["lines"])
    assert [len(row) for row in whole["samples_ns"]] == [1] * 6
    assert whole["robust"] > 0.5  # no program starts within half a millisecond
    assert "whole-program" in cases["whole"]["cautions"]
    # A round each, one unrecorded start in each process start, and one for the memory in each of three more.
    assert len((suite.path / "starts.txt").read_text()) == 6 + 2 + 3
    assert [len(row) for row in lines["samples_ns"]] == [30] * 6
    assert lines["robust"] == 0.001
    assert "whole-program" not in cases["lines"]["cautions"]

    again = suite.run_here(
        "--devperf-compare=base", "--devperf-rounds=6", "--devperf-tolerance=1000%", "-k", "test_whole", *HERE
    )
    assert "too few rounds" not in again.stdout.str()
    (case,) = suite.cases().values()
    assert len(latency(case)["samples_ns"]) == 5  # fewer rounds of one sample would be no verdict


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups as POSIX knows them")
def test_what_a_command_leaves_running_is_ended_and_named(suite: Suite) -> None:
    suite.pytester.makepyfile(LEAVES)

    result = suite.run_here("--devperf", "--devperf-rounds=2", *HERE)

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["caution left-running: the program left running, and was ended: sleep 293.71*"])
    assert not [each for each in psutil.process_iter(["cmdline"]) if "293.71" in (each.info["cmdline"] or [])]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel lists a process's children on Linux alone")
def test_the_memory_of_a_calls_child_counts(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        import subprocess, sys
        import pytest

        def convert():
            subprocess.run([sys.executable, "-c", "x = bytearray(b'x') * (120 * 2**20)"], check=True)

        @pytest.mark.devperf(memory=True, iterations=5, rounds=2)
        def test_convert(devperf):
            devperf(convert)
        """
    )
    result = suite.run_here("--devperf", *HERE)

    result.assert_outcomes(passed=1)
    (case,) = suite.cases().values()
    peak = next(metric for metric in case["metrics"] if metric["name"] == "peak_memory")
    assert 120 < peak["robust"] < 180


WRONG = {
    "a reader that does not fit": (
        "devperf.command(['echo', 'no number'], read='lines')",
        '*has no duration in line 1*have the program timed as a whole with read="time"*',
    ),
    "two ways of timing in turns": (
        "devperf.paired(old=['echo', '{iterations}'], new=['echo', '5'])",
        "*one program of devperf.paired takes {iterations}, and the other is timed as a whole*",
    ),
}


@pytest.mark.parametrize("measuring", [True, False], ids=["measuring", "once"])
@pytest.mark.parametrize("wrong", WRONG)
def test_an_unreadable_command_lists_the_readers(suite: Suite, wrong: str, *, measuring: bool) -> None:
    line, words = WRONG[wrong]
    suite.pytester.makepyfile(f"def test_it(devperf):\n    {line}\n")

    result = suite.run(*(["--devperf"] if measuring else []), "--devperf-target=host")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([words])

"""A failure in a single process start is the case's outcome, with the next step."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Suite

FEW = (
    "--devperf-target=host",
    "--devperf-processes=2",
    "--devperf-rounds=2",
    "--devperf-iterations=5",
    "--devperf-json=run.json",
)

SUBTESTS = """
import os, unittest
import pytest

STARTS = []

def later():
    return os.environ.get("PYTEST_DEVPERF_PROCESS", "0") != "0"

def test_first(devperf, subtests):
    devperf(len, "x")
    with subtests.test("first"):
        assert later(), "in start one"

def test_later(devperf, subtests):
    devperf(len, "x")
    for number in range(2):
        with subtests.test(number=number):
            assert not later(), "in start two"

class TestOld(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def keep(self, devperf):
        self.devperf = devperf

    def test_old(self):
        self.devperf(len, "x")
        for number in range(3):
            with self.subTest(number=number):
                self.assertLess(number, 2, "number two")

def test_good(devperf, subtests):
    devperf(len, "x")
    with subtests.test("good"):
        pass
    with subtests.test("skipped"):
        pytest.skip("not here")
"""


def has_subtests() -> bool:
    return int(pytest.__version__.partition(".")[0]) >= 9


@pytest.mark.slow
@pytest.mark.skipif(not has_subtests(), reason="subtests are part of pytest 9")
def test_a_failed_subtest_fails_its_case_in_whichever_start(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=SUBTESTS)

    result = suite.run_here("--devperf-save=base", *FEW)

    assert result.ret == 1
    outcomes = {each.rpartition("_")[2]: case["outcome"] for each, case in suite.cases().items()}
    assert outcomes == {"first": "failed", "later": "failed", "old": "failed", "good": "passed"}
    (metric,) = next(case["metrics"] for each, case in suite.cases().items() if each.endswith("test_good"))
    assert metric["process"] == [0, 1]
    for words in ("in start one", "in start two", "number two"):
        result.stdout.fnmatch_lines([f"E *{words}*"])
    result.stdout.fnmatch_lines(["process start 2 of 2", "test_it.py::test_first *FAILED"])
    assert suite.last_line(result).startswith("devperf: 3 FAILED, 1 measured; saved as base")


UNSEEDED = """
import os, random

NUMBERS = [random.random() for _ in range(5)]

def test_it(devperf):
    devperf(sorted, NUMBERS)

def test_facts(devperf):
    devperf(len, "x")
    devperf.workload(start=os.environ.get("PYTEST_DEVPERF_PROCESS", "0"))
"""


@pytest.mark.slow
def test_inputs_that_differ_from_start_to_start_fail_the_case_until_they_are_accepted(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=UNSEEDED)

    result = suite.run_here("--devperf-save=base", *FEW)

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines_random(  # the order of the cases depends on the seed
        [
            "argument 0 differs in every process start",
            "seed it, or use devperf.inputs; --devperf-accept=unseeded *",
            "fact 'start' differs in every process start",
        ]
    )

    accepted = (*FEW, "--devperf-rounds=4", "--devperf-accept=unseeded,busy-host")
    suite.run_here("--devperf-save=base", *accepted).assert_outcomes(passed=1, failed=1)
    (case,) = [case for each, case in suite.cases().items() if each.endswith("::test_it")]
    assert "unseeded" in case["cautions"]
    assert case["metrics"][0]["process"] == [0, 0, 1, 1]
    again = suite.run_here("--devperf-compare=base", "--devperf-tolerance=1000%", *accepted, "test_it.py::test_it")
    again.stdout.fnmatch_lines(["*argument 0 differs in every process start*", "devperf: 1 within noise*"])


PLUGIN = """
import sys
import pytest
import named

class Sizes:
    @pytest.fixture
    def size(self):
        return 5

sys.exit(pytest.main(sys.argv[1:], plugins=[Sizes(), named, "texted"]))
"""


@pytest.mark.slow
def test_a_plugin_that_is_an_object_is_named_if_a_later_start_lacks_it(suite: Suite) -> None:
    (suite.path / "conftest.py").unlink()
    for name in ("named", "texted"):
        suite.pytester.makepyfile(**{name: f"import pytest\n@pytest.fixture\ndef {name}(): return 5"})
    suite.pytester.makepyfile(
        run=PLUGIN,
        test_it="""
        def test_object(devperf, size): devperf(abs, size)
        def test_modules(devperf, named, texted): devperf(abs, named)
        """,
    )

    result = suite.pytester.run(
        sys.executable, "run.py", "-p", "no:randomly", "--devperf", "--devperf-cooldown=off", *FEW
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*fixture 'size' not found", "process start 2 of 2; pytest.main was given a plugin as an object (Sizes), *"]
    )
    result.stdout.fnmatch_lines(["*use --devperf-processes=1 to measure in this process"])

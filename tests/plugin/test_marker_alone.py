"""The marker alone makes the whole test function the workload; fixtures stay outside the loop."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Suite

SMALL = ("--devperf", "--devperf-processes=1", "--devperf-iterations=5", "--devperf-warmup=0")

MARKED = """
import json, pathlib, time, unittest
import pytest

COUNTS = {}

def count(name):
    COUNTS[name] = COUNTS.get(name, 0) + 1
    time.sleep(0.0005)  # long enough for one call per iteration

@pytest.fixture(scope="session", autouse=True)
def written():
    yield
    pathlib.Path(__file__).with_name("counts.json").write_text(json.dumps(COUNTS))

@pytest.fixture
def thing():
    COUNTS["setup"] = COUNTS.get("setup", 0) + 1
    yield "thing"
    COUNTS["teardown"] = COUNTS.get("teardown", 0) + 1

@pytest.mark.devperf
def test_function(thing):
    assert thing == "thing"
    count("function")

class TestMethods:
    @pytest.mark.devperf(rounds=2, min_rounds=2)
    @pytest.mark.parametrize("x", [1])
    def test_method(self, x, thing):
        assert x == 1
        count("method")

class TestOld(unittest.TestCase):
    def setUp(self):
        COUNTS["setUp"] = COUNTS.get("setUp", 0) + 1
    def tearDown(self):
        COUNTS["tearDown"] = COUNTS.get("tearDown", 0) + 1
    @pytest.mark.devperf
    def test_case(self):
        self.assertIn("setUp", COUNTS)
        count("case")

@pytest.mark.devperf
async def test_coroutine(thing):
    count("coroutine")
"""


def test_the_function_is_repeated_and_its_fixtures_are_not(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=MARKED)
    suite.ini("devperf_rounds = 3")
    result = suite.run_here(*SMALL, "--devperf-target=host", "--devperf-json=run.json")
    assert result.ret == 0
    result.assert_outcomes(passed=4)
    counts = json.loads((suite.path / "counts.json").read_text())
    assert (counts["setup"], counts["teardown"]) == (3, 3)
    assert (counts["setUp"], counts["tearDown"]) == (1, 1)
    measured = {"function": 3, "method": 2, "case": 3, "coroutine": 3}
    for name, rounds in measured.items():
        assert counts[name] >= rounds * 5, name
    cases = {case_id.rpartition("::test_")[2]: case for case_id, case in suite.cases().items()}
    for name, rounds in (("function", 3), ("method[1]", 2), ("case", 3), ("coroutine", 3)):
        (metric,) = cases[name]["metrics"]
        assert metric["name"] == "latency"
        assert [len(row) for row in metric["samples_ns"]] == [5] * rounds
        assert metric["robust"] > 0.4


def test_without_measuring_each_runs_once(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=MARKED)
    result = suite.run_here()
    result.assert_outcomes(passed=4)
    counts = json.loads((suite.path / "counts.json").read_text())
    assert {name: counts[name] for name in ("function", "method", "case", "coroutine", "setUp")} == {
        "function": 1, "method": 1, "case": 1, "coroutine": 1, "setUp": 1,
    }  # fmt: skip


def test_a_function_that_fails_while_it_is_repeated_fails_as_itself(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        import pytest, unittest
        calls = []
        @pytest.mark.devperf
        def test_third():
            calls.append(1)
            assert len(calls) < 3, "the third call"
        class TestOld(unittest.TestCase):
            @pytest.mark.devperf
            def test_skips(self): self.skipTest("not here")
        """
    )
    result = suite.run_here(*SMALL, "--devperf-target=host", "--devperf-json=run.json")
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(["E *the third call*"])
    assert {case["outcome"] for case in suite.cases().values()} == {"failed", "skipped"}


def test_marked_tests_are_compared_like_any_other(suite: Suite) -> None:
    suite.pytester.makepyfile("import pytest\n@pytest.mark.devperf\ndef test_it(): pass\n")
    suite.run("--devperf-save=base")
    suite.takes(test_it=2_000_000)
    result = suite.run("--devperf-compare=base")
    assert result.ret == 1
    assert suite.last_line(result) == "devperf: 1 REGRESSED; compared with base"


def test_marks_of_class_and_module_hold_for_every_test_in_them(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_module="""
        import pytest
        pytestmark = pytest.mark.devperf(suite="full")
        def test_a(): pass
        class TestB:
            def test_b(self): pass
        """,
        test_class="""
        import pytest, unittest
        @pytest.mark.devperf
        class TestC(unittest.TestCase):
            def test_c(self): pass
        def test_ordinary(): pass
        """,
    )
    result = suite.run("--devperf", "--devperf-suite=full", "--devperf-json=run.json")
    result.assert_outcomes(passed=4)
    assert {name.rpartition("_")[2]: case["suite"] for name, case in suite.cases().items()} == {
        "a": "full", "b": "full", "c": "quick",
    }  # fmt: skip


def test_a_test_case_of_unittest_may_keep_the_fixture(suite: Suite) -> None:
    suite.pytester.makepyfile(
        """
        import pytest, unittest
        def work(): return 3
        class TestOld(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def keep(self, devperf): self.devperf = devperf
            def test_kept(self): self.assertEqual(self.devperf(work), 3)
        """
    )
    result = suite.run("--devperf", "--devperf-json=run.json")
    result.assert_outcomes(passed=1)
    (case,) = suite.cases().values()
    assert case["metrics"][0]["process"] == [0] * 4 + [1] * 4 + [2] * 4 or case["stable"]["converged"]

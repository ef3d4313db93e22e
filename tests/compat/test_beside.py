"""Which plugin provides the fixture is never left open."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_other_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out plugins that warn about keys which these suites do not have."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:asyncio -p no:randomly -p no:cov")


USES = """
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
def test_it(benchmark):
    assert isinstance(benchmark, BenchmarkFixture)
    assert benchmark(sum, [1, 2]) == 3
"""

ABSENT = """
import sys
from importlib.machinery import PathFinder
real = PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, path=None, target=None:
        None if name.partition(".")[0] == "pytest_benchmark" else real(name, path, target)
)
import pytest
raise SystemExit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("ours", [True, False])
def test_the_ini_key_switches_the_installed_one_off(pytester: pytest.Pytester, *, ours: bool) -> None:
    pytester.makeini(f"[pytest]\ndevperf_compat = {ours}\naddopts = --benchmark-sort=mean")
    pytester.makepyfile("def test_it(benchmark): print(type(benchmark).__module__); benchmark(sum, [1])")
    result = pytester.runpytest_subprocess("-s", "--benchmark-disable")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*pytest_devperf.compat.fixture*" if ours else "*pytest_benchmark.fixture*"])


def test_an_ini_key_that_is_neither_true_nor_false_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndevperf_compat = perhaps")
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "devperf_compat = perhaps: must be true or false" in result.stderr.str() + result.stdout.str()


@pytest.mark.parametrize("first", [True, False])
def test_one_that_is_named_too_is_refused(pytester: pytest.Pytester, *, first: bool) -> None:
    both = ["-p", "pytest_devperf.compat", "-p", "pytest_benchmark.plugin"]
    result = pytester.runpytest_subprocess(*(both if first else both[2:] + both[:2]))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "pytest_benchmark.plugin is loaded by -p or pytest_plugins beside" in result.stderr.str()
    assert len([line for line in result.errlines if line]) == 1


def test_a_suite_runs_without_it_and_may_require_and_import_it(pytester: pytest.Pytester) -> None:
    pytester.makeini(
        "[pytest]\nrequired_plugins = pytest-benchmark>=4\naddopts = --benchmark-columns=min --benchmark-disable"
    )
    pytester.makepyfile(test_it=USES)
    script = pytester.makepyfile(absent=ABSENT)
    for more in ((), ("--devperf", "--devperf-processes=1", "--devperf-rounds=3", "--devperf-iterations=5")):
        result = pytester.runpython_c(
            f"import sys; sys.argv[1:] = {['-p', 'pytest_devperf.compat', *more]!r}; exec(open({str(script)!r}).read())"
        )
        result.assert_outcomes(passed=1)
        assert "benchmark-5" not in result.stdout.str()

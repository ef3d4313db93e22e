"""Which plugin provides the fixture is never left open."""

from __future__ import annotations

import pytest

OURS = ["-p", "pytest_devperf.plugin", "-p", "pytest_devperf.compat"]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load only the plugins that are named: interpreters start faster without all that are installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


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


def test_the_ini_key_switches_the_installed_one_off(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndevperf_compat = true\naddopts = --benchmark-sort=mean -p no:asyncio")
    pytester.makepyfile("def test_it(benchmark): print(type(benchmark).__module__); benchmark(sum, [1])")
    result = pytester.runpytest_subprocess("-s", "--benchmark-disable")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*pytest_devperf.compat.fixture*"])


@pytest.mark.usefixtures("alone")
def test_an_ini_key_that_is_neither_true_nor_false_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndevperf_compat = perhaps")
    result = pytester.runpytest_subprocess(*OURS[:2])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "devperf_compat = perhaps: must be true or false" in result.stderr.str() + result.stdout.str()


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("first", [True, False])
def test_one_that_is_named_too_is_refused(pytester: pytest.Pytester, *, first: bool) -> None:
    theirs = ["-p", "pytest_benchmark.plugin"]
    result = pytester.runpytest_subprocess(*([*OURS, *theirs] if first else [*theirs, *OURS]))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "pytest_benchmark.plugin is loaded by -p or pytest_plugins beside" in result.stderr.str()
    assert len([line for line in result.errlines if line]) == 1


@pytest.mark.usefixtures("alone")
def test_a_suite_runs_without_it_and_may_require_and_import_it(pytester: pytest.Pytester) -> None:
    pytester.makeini(
        "[pytest]\nrequired_plugins = pytest-benchmark>=4\naddopts = --benchmark-columns=min --benchmark-disable"
    )
    pytester.makepyfile(test_it=USES)
    script = pytester.makepyfile(absent=ABSENT)
    for more in ((), ("--devperf", "--devperf-processes=1", "--devperf-rounds=3", "--devperf-iterations=5")):
        result = pytester.runpython_c(
            f"import sys; sys.argv[1:] = {[*OURS, *more]!r}; exec(open({str(script)!r}).read())"
        )
        result.assert_outcomes(passed=1)
        assert "benchmark-5" not in result.stdout.str()

"""The fixture behaves as pytest-benchmark's, which runs the same suites beside it."""

from __future__ import annotations

import json

import pytest

OURS = ("-p", "pytest_devperf.plugin", "-p", "pytest_devperf.compat")
THEIRS = ("-p", "pytest_benchmark.plugin", "--benchmark-max-time=0.001")
MEASURED = ("--devperf", "--devperf-processes=1", "--devperf-rounds=3", "--devperf-iterations=5")


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreters start faster without all plugins that are installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):  # pytest-benchmark measures nothing in a worker
        monkeypatch.delenv(name, raising=False)


RULES = r"""
import pytest

def see(*words):
    print("\nSEEN", *words)

def call(*args, **kwargs):
    return args, kwargs

def note(error, benchmark):
    see(f"{type(error).__name__}: {error} {benchmark.has_error}")

BAD = {
    "rounds 0": dict(rounds=0),
    "rounds text": dict(rounds="3"),
    "iterations 0": dict(iterations=0),
    "iterations float": dict(iterations=1.5),
    "warmup -1": dict(warmup_rounds=-1),
    "setup and iterations": dict(setup=lambda: None, iterations=2),
    "setup and args": dict(setup=lambda: ((1,), {}), args=(2,)),
    "setup and kwargs": dict(setup=lambda: ((1,), {}), kwargs={"a": 2}),
    "setup of one": dict(setup=lambda: (1,)),
}

@pytest.mark.parametrize("name", BAD)
def test_bad(benchmark, name):
    with pytest.raises(Exception) as caught:
        benchmark.pedantic(call, **BAD[name])
    note(caught.value, benchmark)

@pytest.mark.parametrize("how", ["call", "pedantic"])
def test_twice(benchmark, how):
    getattr(benchmark, "__call__" if how == "call" else how)(call)
    with pytest.raises(Exception) as caught:
        benchmark(call)
    note(caught.value, benchmark)

def test_raising(benchmark):
    with pytest.raises(ZeroDivisionError) as caught:
        benchmark(lambda: 1 / 0)
    note(caught.value, benchmark)

GOOD = {
    "nothing": {},
    "args": dict(args=(1,), kwargs={"a": 2}),
    "list of args": dict(args=[1, 2]),
    "setup": dict(setup=lambda: ((1,), {"b": 2}), rounds=2),
    "setup of nothing": dict(setup=lambda: None, args=(1,), rounds=2, warmup_rounds=1),
    "iterations": dict(args=(1,), rounds=3, iterations=4, warmup_rounds=2),
    "many": dict(rounds=10),
}

@pytest.mark.parametrize("name", GOOD)
def test_good(benchmark, name):
    calls = []
    def target(*args, **kwargs):
        calls.append((args, kwargs))
        return len(calls)
    result = benchmark.pedantic(target, **GOOD[name])
    stats = benchmark.stats
    see(result, len(calls), calls[-1], stats is not None and (stats["rounds"], stats.iterations))

@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_teardown(benchmark, iterations):
    more = dict(args=(7,), iterations=iterations) if iterations else {}
    torn, setup = [], {} if more else dict(setup=lambda: ((7,), {}))
    tear_down = lambda *args, **kwargs: torn.append(args)
    benchmark.pedantic(call, teardown=tear_down, rounds=3, warmup_rounds=1, **setup, **more)
    see(len(torn), set(torn))

@pytest.mark.parametrize("x", [1, 2])
@pytest.mark.benchmark(group="pairs", min_rounds=2, warmup=False)
def test_facts(benchmark, x):
    see(benchmark.name, benchmark.fullname, benchmark.group, benchmark.param, benchmark.params, benchmark.extra_info)
    see(benchmark.enabled, benchmark.disabled, benchmark.stats)
    see(benchmark(call, 1, a=2))

class TestClass:
    @pytest.fixture(autouse=True)
    def prepare(self, benchmark):
        self.benchmark = benchmark

    def test_attribute(self):
        see(self.benchmark(sorted, [2, 1]))

@pytest.mark.benchmark("positional")
def test_positional_mark(benchmark):
    benchmark(call)

@pytest.mark.benchmark(speed=1)
def test_unknown_mark(benchmark):
    benchmark(call)

def test_ordinary():
    pass
"""


def _seen(pytester: pytest.Pytester, *args: str) -> list[str]:
    """Run the suite, and keep what its tests print and the errors of its markers."""
    result = pytester.runpytest_inprocess("-q", "-rN", "-s", "--tb=line", *args)
    return [line for line in result.outlines if line.startswith(("SEEN", "E   ValueError"))]


@pytest.mark.parametrize("measured", [False, True], ids=["once", "measured"])
def test_rules_errors_calls_and_facts_are_the_same(pytester: pytest.Pytester, *, measured: bool) -> None:
    pytester.makepyfile(test_it=RULES)
    theirs = _seen(pytester, *THEIRS, *(() if measured else ("--benchmark-disable",)))
    ours = _seen(pytester, *OURS, *(MEASURED if measured else ()))
    assert len(ours) > 30
    assert ours == theirs
    assert "E   ValueError: benchmark mark can't have positional arguments." in ours


def test_only_and_skip_choose_tests_as_there(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(benchmark): benchmark(sum, [1])\ndef test_other(): pass")
    for options in (["--benchmark-only"], ["--benchmark-skip"], ["--benchmark-only", "--benchmark-skip"], []):
        outcomes = [pytester.runpytest_inprocess(*how, *options).parseoutcomes() for how in (THEIRS, OURS)]
        assert outcomes[0] == outcomes[1], options


def test_a_case_of_the_fixture_is_selected_measured_and_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import pytest
        @pytest.mark.benchmark(group="sums", min_rounds=7, timer=None)
        def test_it(benchmark):
            benchmark.extra_info["rows"] = [1, object]
            assert benchmark(sum, [1, 2]) == 3
            assert 0 < benchmark.stats.stats.mean < 1 and benchmark.stats["rounds"] > 0
        def test_ordinary(): pass
        """
    )
    pytester.makeconftest("def pytest_benchmark_update_json(output_json): pass")
    words = ("-m", "devperf", "--devperf-json=run.json", "--benchmark-sort=mean", "--devperf-processes=2")
    result = pytester.runpytest_subprocess(*OURS, *MEASURED[:1], *MEASURED[2:], *words)
    result.assert_outcomes(passed=1, deselected=1)
    case = json.loads((pytester.path / "run.json").read_text())["runs"][0]["cases"][0]
    assert (case["id"], case["group"], case["outcome"]) == ("test_it.py::test_it", "sums", "passed")
    assert case["extra_info"]["rows"][0] == 1
    text = result.stdout.str()
    assert "--benchmark-sort, min_rounds of 1 marker, timer of 1 marker, pytest_benchmark_update_json" in text
    assert "pytest-devperf provides the benchmark fixture; pytest-benchmark" in text


def test_a_separate_start_makes_as_many_calls_as_the_test_requests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        def test_single(benchmark):
            calls = []
            assert benchmark.pedantic(calls.append, (1,)) is None
            assert calls == [1]
        def test_ten(benchmark):
            calls = []
            benchmark.pedantic(calls.append, (1,), rounds=10, warmup_rounds=1)
            assert len(calls) == 11
        """
    )
    result = pytester.runpytest_subprocess(*OURS, "--devperf", "--devperf-json=run.json")
    result.assert_outcomes(passed=2)
    single, ten = json.loads((pytester.path / "run.json").read_text())["runs"][0]["cases"]
    assert [len(row) for row in single["metrics"][0]["samples_ns"]] == [1] * 5
    assert [len(row) for row in ten["metrics"][0]["samples_ns"]] == [5] * 6


def test_a_result_that_is_still_to_be_computed_fails_with_what_to_do(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        def items():
            yield 1
        async def fetch():
            return 1
        def test_generator(benchmark): benchmark(items)
        def test_pedantic(benchmark): benchmark.pedantic(items)
        def test_coroutine(benchmark): benchmark.pedantic(fetch)
        def test_weave(benchmark): benchmark.weave("os.path.join")
        """
    )
    result = pytester.runpytest_inprocess(*OURS, *MEASURED)
    result.assert_outcomes(failed=4)
    text = " ".join(result.stdout.str().split())
    assert "items returns a generator, so only its creation would be timed: pass a function that exhausts it" in text
    assert "fetch is a coroutine function, so only its creation would be timed" in text
    assert "benchmark.weave and benchmark.patch are not supported" in text


def test_a_fixture_that_is_requested_late_is_refused_only_if_it_would_be_measured(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(request): assert request.getfixturevalue('benchmark')(sum, [1]) == 1")
    pytester.runpytest_inprocess(*OURS).assert_outcomes(passed=1)
    result = pytester.runpytest_inprocess(*OURS, *MEASURED)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*cannot be requested with request.getfixturevalue*"])


def test_a_fixture_that_overrides_it_stays_a_case(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import pytest\n@pytest.fixture\ndef benchmark(benchmark):\n    benchmark.group = 'mine'\n"
        "    return benchmark\n"
    )
    pytester.makepyfile("def test_it(benchmark): assert benchmark(sum, [1]) == 1")
    pytester.runpytest_inprocess(*OURS, *MEASURED, "--devperf-json=run.json").assert_outcomes(passed=1)
    case = json.loads((pytester.path / "run.json").read_text())["runs"][0]["cases"][0]
    assert case["group"] == "mine"
    assert case["metrics"]

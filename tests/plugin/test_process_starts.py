"""Process starts on this machine: fresh interpreters that run the same tests again."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Suite

ANY_FACTS = """
import numpy
class Odd: pass
def test_it(devperf, record_property):
    record_property("odd", Odd())
    devperf.workload(
        shape=(1, 2), boxes=numpy.int64(3), scale=numpy.float32(0.5), where=pathlib.Path("x"),
        table={(1, 2): 3}, names={"b", "a"}, data=b"ab", array=numpy.arange(3), odd=Odd, none=None,
    )
    devperf.record("share", numpy.float32(0.5))
    devperf.record("count", numpy.int64(5))
    devperf(work)
"""

SMALL = ("--devperf-rounds=3", "--devperf-iterations=5", "--devperf-warmup=0", "--devperf-processes=3")

NOTE = """
import json, os, pathlib, sys
import pytest

START = os.environ.get("PYTEST_DEVPERF_PROCESS", "first")

def note(**facts):
    with pathlib.Path(__file__).with_name("notes.txt").open("a") as file:
        file.write(json.dumps({"start": START, **facts}) + "\\n")

def work(x=None):
    pass
"""


MOST_DATACLASSES = 41
"""Dataclasses that a fresh interpreter may import for a plain call: at about half a millisecond each, they take two
thirds of the time of its imports."""


def _notes(suite: Suite) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (suite.path / "notes.txt").read_text().splitlines()]


def _measure(suite: Suite, *args: str, plugins: Sequence[str] | None = ()) -> pytest.RunResult:
    fixed = ("--devperf", "--devperf-target=host", "--devperf-json=run.json")
    return suite.run_here(*fixed, *SMALL, *args, plugins=plugins)


# -- the same tests, in the same surroundings --------------------------------------------------------


@pytest.mark.slow
def test_a_body_runs_once_per_start_with_a_new_hash_seed_and_the_parents_environment(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
def test_it(devperf, request, tmp_path):
    config = request.config
    devperf(work)
    note(
        hash=hash("text"), argv=list(config.invocation_params.args), cwd=os.getcwd(), path=sys.path,
        plugins=sorted(name for name, _ in config.pluginmanager.list_name_plugin() if not name.isdigit()),
        ini=config.getini("markers")[0], rootdir=str(config.rootpath), tmp=str(tmp_path), pid=os.getpid(),
        stdin=sys.stdin is None or not sys.stdin.isatty(),
    )
"""
    )
    suite.ini("markers = mine: a marker of the suite's own")
    basetemp = suite.path / "temporary"
    result = _measure(suite, f"--basetemp={basetemp}", "--import-mode=importlib", "-p", "no:doctest", plugins=None)
    assert result.ret == 0
    first, second, third = _notes(suite)
    assert [first["start"], second["start"], third["start"]] == ["first", "1", "2"]
    assert len({note["hash"] for note in (first, second, third)}) == 3
    assert len({note["pid"] for note in (first, second, third)}) == 3
    for same in ("argv", "cwd", "path", "ini", "rootdir"):
        assert first[same] == second[same] == third[same], same
    ours = {"devperf-pytest-html", "devperf-worker", "devperf-session", "devperf-collected", "devperf-suites"}
    assert set(first["plugins"]) - ours == set(second["plugins"]) - ours
    assert first["tmp"].startswith(str(basetemp))
    assert not second["tmp"].startswith(str(basetemp))
    assert any(path.name.startswith("test_it") for path in basetemp.iterdir())
    (case,) = suite.cases().values()
    assert case["metrics"][0]["process"] == [0, 1, 2]


def test_one_process_stays_in_one_process(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
def test_it(devperf):
    devperf.load(dict, a=1)
    devperf(work)
    note()
"""
    )
    result = _measure(suite, "--devperf-processes=1", "--devperf-rounds=3")
    assert result.ret == 0
    assert [each["start"] for each in _notes(suite)] == ["first"]
    (case,) = suite.cases().values()
    assert {metric["name"] for metric in case["metrics"]} >= {"latency", "load", "peak_memory"}
    assert "shared-process" in case["cautions"]


@pytest.mark.slow
def test_load_and_memory_come_from_fresh_interpreters_alone(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
class Thing:
    def __init__(self):
        note(made=True)
        self.data = bytearray(8 << 20)
    def use(self):
        pass
def test_it(devperf):
    thing = devperf.load(Thing)
    devperf(thing.use)
"""
    )
    result = _measure(suite)
    assert result.ret == 0
    (case,) = suite.cases().values()
    metrics = {metric["name"]: metric for metric in case["metrics"]}
    assert metrics["latency"]["process"] == [0, 1, 2]
    for name in ("load", "first_load", "loaded_memory", "peak_memory"):
        assert metrics[name]["process"] == [3, 4, 5], name
    assert metrics["loaded_memory"]["robust"] == pytest.approx(8, abs=4)
    assert "shared-process" not in case["cautions"]
    made = [each["start"] for each in _notes(suite)]
    assert made == ["first", "1", "2"] + [start for start in "345" for _ in range(3)]


def test_fixtures_of_class_and_module_are_set_up_once_per_start_and_parameter(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
@pytest.fixture(scope="module", params=["a", "b"])
def wide(request):
    note(wide=request.param)
    return request.param
@pytest.fixture(scope="class", params=[1, 2])
def narrow(request):
    return request.param
class TestIt:
    def test_one(self, wide, narrow, devperf): devperf(work, narrow)
    def test_two(self, wide, narrow, devperf): devperf(work, narrow)
def test_three(wide, devperf): devperf(work, wide)
"""
    )
    result = _measure(suite)
    assert result.ret == 0
    result.assert_outcomes(passed=10)
    wide = [(each["start"], each["wide"]) for each in _notes(suite)]
    assert sorted(wide) == sorted((start, param) for start in ("first", "1", "2") for param in "ab")


def test_ids_outside_rootdir_and_duplicates_are_found_again(suite: Suite) -> None:
    package = suite.path / "lib" / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "test_in.py").write_text("def work(): pass\ndef test_in(devperf): devperf(work)\n")
    (suite.path / "lib" / "conftest.py").write_text(
        "import pytest\n@pytest.fixture(autouse=True)\ndef mine(): return 1\n"
    )
    (suite.path / "other").mkdir()
    (suite.path / "other" / "own.ini").write_text("[pytest]\n")
    suite.pytester._monkeypatch.setenv("PYTHONPATH", str(suite.path / "lib"))
    suite.pytester._monkeypatch.setenv("PYTEST_ADDOPTS", "--keep-duplicates")
    result = _measure(suite, "-c", "other/own.ini", "--pyargs", "pkg", "pkg.test_in")
    assert result.ret == 0
    result.assert_outcomes(passed=2)
    for case in suite.document()["runs"][0]["cases"]:
        assert case["metrics"][0]["process"] == [0, 1, 2]


# -- a later start that ends otherwise ---------------------------------------------------------------


@pytest.mark.slow
def test_a_case_that_goes_wrong_in_a_later_start_alone_has_that_outcome_and_harms_no_other(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
import ctypes
LATER = START == "1"
@pytest.fixture
def broken():
    assert not LATER, "the fixture broke"
def test_a(devperf): devperf(work)
def test_fails(devperf): devperf(work); assert not LATER, "only later"
def test_skips(devperf):
    if LATER: pytest.skip("not now")
    devperf(work)
def test_errs(broken, devperf): devperf(work)
def test_exits(devperf):
    if LATER: os._exit(7)
    devperf(work)
def test_crashes(devperf):
    if LATER: ctypes.string_at(0)
    devperf(work)
def test_leaves(devperf):
    if LATER: pytest.exit("enough")
    devperf(work)
def test_differs(devperf): devperf(work, START)
def test_metrics(devperf):
    devperf(work)
    if LATER: devperf.measure("more", work)
def test_z(devperf): devperf(work)
"""
    )
    result = _measure(suite, "-v", "-rs")
    assert result.ret == 1
    text = result.stdout.str()
    cases = {name.rpartition("::test_")[2]: case for name, case in suite.cases().items()}
    outcomes = {name: case["outcome"] for name, case in cases.items()}
    assert outcomes == {
        "a": "passed", "z": "passed", "fails": "failed", "skips": "skipped", "errs": "error", "exits": "failed",
        "crashes": "failed", "leaves": "failed", "differs": "failed", "metrics": "failed",
    }  # fmt: skip
    assert cases["a"]["metrics"][0]["process"] == cases["z"]["metrics"][0]["process"] == [0, 1, 2]
    assert all(not case["metrics"] for name, case in cases.items() if name not in {"a", "z"})
    result.assert_outcomes(passed=2, failed=6, skipped=1, errors=1)
    result.stdout.fnmatch_lines(["*not now (process start 2 of 3)*"])
    assert text.count("process start 2 of 3") >= 6
    assert "Segmentation fault" in text
    result.stdout.fnmatch_lines(["*argument 0 differs in every process start*"])
    result.stdout.fnmatch_lines(["*metric 'latency.more' was measured in process start 2, but not in the first*"])


def test_an_id_that_differs_between_runs_is_an_error(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
@pytest.mark.parametrize("x", [0], ids=[f"pid-{os.getpid()}"])
def test_it(devperf, x): devperf(work)
def test_steady(devperf): devperf(work)
"""
    )
    result = _measure(suite)
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*process start 2 did not find this case: its id differs from run to run*", "*make parametrised ids from *"]
    )


def test_an_interpreter_that_cannot_start_shows_its_output(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="def work(): pass\ndef test_it(devperf): devperf(work)")
    conftest = suite.path / "conftest.py"
    conftest.write_text(
        conftest.read_text()
        + "\nimport os\ndef pytest_configure(config):\n"
        + "    if 'PYTEST_DEVPERF_PROCESS' in os.environ: raise RuntimeError('the port is taken')\n"
    )
    result = _measure(suite)
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*process start 2 did not run*", "*--devperf-processes=1*", "*the port is taken*"])


def test_facts_that_differ_between_starts_are_an_error(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE + "\ndef test_it(devperf):\n    devperf(work)\n    devperf.workload(boxes=START)\n"
    )
    result = _measure(suite)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*fact 'boxes' differs in every process start*"])


@pytest.mark.slow
def test_facts_and_properties_of_any_kind_survive_the_way_back(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=NOTE + ANY_FACTS)
    scalars = ("--devperf-processes=2", "--devperf-rounds=2", "--devperf-no-confirm")
    result = _measure(suite, "--devperf-save=base", "--junitxml=junit.xml", *scalars)
    assert result.ret == 0
    result = _measure(suite, "--devperf-compare=base", *scalars)
    assert "INCOMPARABLE" not in suite.last_line(result)


HOSTILE = ["x" * 300, "ünïcödé ☃", "a::b", "line\nbreak", "'quo\"ted'", "$(touch owned)", "[x]", "-k", "@f"]


def test_ids_of_any_characters_are_found_again_in_a_fresh_interpreter(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + f"""
@pytest.mark.parametrize("x", {list(range(len(HOSTILE)))}, ids={HOSTILE!r})
def test_it(devperf, x): devperf(work)
"""
    )
    result = _measure(suite, "--devperf-processes=2", "--devperf-rounds=2")
    assert result.ret == 0
    assert [case["metrics"][0]["process"] for case in suite.cases().values()] == [[0, 1]] * len(HOSTILE)
    assert not list(suite.path.glob("*owned*"))


# -- what belongs to the parent ----------------------------------------------------------------------


def test_files_that_the_parent_writes_are_the_parents_alone(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
import logging
def test_it(devperf):
    logging.getLogger().warning("from start %s", START)
    devperf(work)
def test_last(): pass
"""
    )
    suite.ini("log_file = session.log", "log_file_level = WARNING")
    result = _measure(suite, "--junitxml=junit.xml", "--durations=3")
    assert result.ret == 0
    assert "from start first" in (suite.path / "session.log").read_text()
    assert "from start 1" not in (suite.path / "session.log").read_text()
    junit = (suite.path / "junit.xml").read_text()
    assert 'tests="2"' in junit
    assert 'failures="0"' in junit


def test_an_html_report_is_the_parents_alone(suite: Suite) -> None:
    pytest.importorskip("pytest_html")
    suite.pytester.makepyfile(test_it=NOTE + "\ndef test_it(devperf): devperf(work)\ndef test_last(): pass\n")
    result = _measure(
        suite, "--html=report.html", "--self-contained-html", plugins=["pytest_metadata.plugin", "pytest_html.plugin"]
    )
    assert result.ret == 0
    assert "test_last" in (suite.path / "report.html").read_text()


def test_coverage_is_written_by_the_parent_and_named_as_the_tracer(suite: Suite) -> None:
    pytest.importorskip("pytest_cov")
    suite.pytester.makepyfile(mod="def work():\n    return 1\n")
    suite.pytester.makepyfile(test_it="import mod\ndef test_it(devperf): devperf(mod.work)")
    result = _measure(suite, "--cov=mod", "--cov-report=term", "-p", "no:cacheprovider", plugins=["pytest_cov"])
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*mod.py*100%*"])
    (case,) = suite.cases().values()
    if sys.version_info < (3, 14):  # from then on coverage listens without tracing
        assert "instrumented" in case["cautions"]
        assert "coverage traced the measuring thread; measure with --no-cov" in suite.flat(result)
    assert case["metrics"][0]["process"] == [0, 1, 2]


def test_a_session_that_a_profiler_runs_is_measured_and_names_the_profiler(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="def test_it(devperf): devperf(len, [])")
    suite.pytester._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytest_words = ["-m", "pytest", "-p", "pytest_devperf.plugin", "--devperf", "--devperf-target=host"]
    few = ["--devperf-rounds=2", "--devperf-iterations=5", "--devperf-processes=1", "--devperf-cooldown=off"]

    result = suite.pytester.run(
        sys.executable, "-m", "cProfile", "-o", "profile.out", *pytest_words, *few, "--devperf-json=run.json"
    )

    result.assert_outcomes(passed=1)
    (case,) = suite.cases().values()
    assert "instrumented" in case["cautions"]
    assert "a profiler (cProfile) traced the measuring thread" in suite.flat(result)
    assert (suite.path / "profile.out").stat().st_size  # the profiler was set to work again


# -- pytest's own ways of ending early ---------------------------------------------------------------

ENDING = (
    NOTE
    + """
def test_a(devperf): devperf(work); assert START != "1"
def test_b(devperf): devperf(work)
def test_c(devperf): devperf(work); assert START != "1"
"""
)


@pytest.mark.parametrize(("option", "failed"), [("-x", 1), ("--maxfail=2", 2), ("--sw", 1)])
def test_a_later_start_that_fails_counts_for_x_maxfail_and_stepwise(suite: Suite, option: str, failed: int) -> None:
    suite.pytester.makepyfile(test_it=ENDING)
    result = _measure(suite, option, "--devperf-processes=2", "--devperf-rounds=2")
    assert result.ret in {1, 2}
    assert result.parseoutcomes()["failed"] == failed
    assert "pending" in suite.last_line(result)


@pytest.mark.slow
def test_the_last_failed_cases_run_again(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=ENDING)
    _measure(suite, "--devperf-processes=2", "--devperf-rounds=2").assert_outcomes(passed=1, failed=2)
    again = _measure(suite, "--devperf-processes=2", "--devperf-rounds=2", "--lf", "-v")
    again.assert_outcomes(failed=2)


# -- other plugins -----------------------------------------------------------------------------------


def test_a_measured_case_is_not_rerun(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
def test_fails(devperf):
    note(ran=True)
    devperf(work)
    assert False
"""
    )
    result = _measure(suite, "--reruns=2", plugins=["pytest_rerunfailures"])
    result.assert_outcomes(failed=1)
    assert "rerun" not in result.parseoutcomes()
    assert [each["start"] for each in _notes(suite)] == ["first"]


def test_a_time_limit_counts_per_start(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
import time
@pytest.mark.timeout(3600)
def test_ends(devperf):
    devperf(work)

@pytest.mark.timeout(0.5 if START == "1" else 3600)
def test_hangs(devperf):
    devperf(work)
    while START == "1": time.sleep(0.1)
"""
    )
    conftest = """
import pytest
from test_it import note

@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item, settings):
    note(begins=item.name)
    return (yield)
"""
    (suite.path / "conftest.py").write_text(conftest)
    result = _measure(suite, "--devperf-processes=2", plugins=["pytest_timeout"])
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Timeout*0.5*"])
    begun = [(each["start"], each["begins"]) for each in _notes(suite) if "begins" in each]
    assert sorted(begun) == [(start, name) for start in ("1", "first") for name in ("test_ends", "test_hangs")]


def test_an_expected_failure_of_a_later_start_is_expected(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
@pytest.mark.xfail(reason="known")
def test_it(devperf):
    devperf(work)
    assert START == "first"
"""
    )
    result = _measure(suite)
    assert result.ret == 0
    result.assert_outcomes(xfailed=1)
    assert suite.cases()["test_it.py::test_it"]["reason"] == "failed as expected: known"


@pytest.mark.parametrize(
    "how", [("-q", "-q"), ("-s",), ("-p", "no:terminal"), ("-p", "no:cacheprovider", "-p", "no:tmpdir")]
)
def test_any_verbosity_measures_alike(suite: Suite, how: tuple[str, ...]) -> None:
    suite.pytester.makepyfile(test_it=NOTE + "\ndef test_it(devperf):\n    print('seen')\n    devperf(work)\n")
    result = _measure(suite, *how, "--devperf-processes=2", "--devperf-rounds=2")
    assert result.ret == 0
    (case,) = suite.cases().values()
    assert case["metrics"][0]["process"] == [0, 1]
    if how == ("-s",):
        assert result.stdout.str().count("seen") == 1


def test_random_numbers_are_the_same_in_every_start_under_randomly(suite: Suite) -> None:
    pytest.importorskip("pytest_randomly")
    suite.pytester.makepyfile(
        test_it="import random\ndef work(x): pass\ndef test_it(devperf): devperf(work, random.random())"
    )
    suite.pytester.makeini("[pytest]\n")
    result = _measure(suite, plugins=["pytest_randomly"])
    assert result.ret == 0


COROUTINES = """
import asyncio
import pytest

async def fetch(x):
    await asyncio.sleep(0)
    return x

{mark}
async def test_inside(devperf): assert await devperf(fetch, 1) == 1

def test_outside(devperf): assert devperf(fetch, 2) == 2

@pytest.mark.devperf
{mark}
async def test_marked(): await fetch(3)
"""


@pytest.mark.parametrize("plugin", ["asyncio", "anyio", None])
def test_coroutines_are_measured_with_any_plugin_and_with_none(suite: Suite, plugin: str | None) -> None:
    if plugin:
        pytest.importorskip({"asyncio": "pytest_asyncio.plugin"}.get(plugin, plugin))
    suite.pytester.makepyfile(test_it=COROUTINES.format(mark=f"@pytest.mark.{plugin}" if plugin else ""))
    if plugin == "anyio":
        conftest = suite.path / "conftest.py"
        more = "\nimport pytest\n@pytest.fixture\ndef anyio_backend(): return 'asyncio'\n"
        conftest.write_text(conftest.read_text() + more)
    loaded = {"asyncio": ["pytest_asyncio.plugin"], "anyio": ["anyio.pytest_plugin"], None: []}[plugin]
    result = _measure(suite, "--devperf-processes=2", "--devperf-rounds=2", plugins=loaded)
    assert result.ret == 0
    result.assert_outcomes(passed=3)
    for case in suite.cases().values():
        assert case["metrics"][0]["process"] == [0, 1]
        assert case["workload"]["kind"] == "call"


RECORDED_ALONE = """
def test_one(devperf):
    devperf.record("size", pathlib.Path(__file__).with_name("size.txt").stat().st_size, unit="B")
def test_several(devperf):
    devperf.workload(boxes=3)
    devperf.record("boxes", 1)
    devperf.record("boxes", 2)
def test_other(devperf):
    devperf(work)
"""


@pytest.mark.slow
def test_a_case_that_only_records_values_is_a_case_like_any_other(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=NOTE + RECORDED_ALONE)
    size = suite.path / "size.txt"
    size.write_text("x" * 100)
    assert _measure(suite, "--devperf-save=base").ret == 0
    one, several, _ = suite.cases().values()
    assert [(each["name"], each["samples"]) for each in one["metrics"]] == [("size", [[100.0]] * 3)]
    assert [(each["name"], each["samples"]) for each in several["metrics"]] == [("boxes", [[1.0, 2.0]] * 3)]
    size.write_text("x" * 125)
    result = _measure(suite, "--devperf-compare=base", "-k", "one or several")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["REGRESSED test_it.py::test_one*size regressed: 100*125*(+25.0 %)*"])
    assert suite.last_line(result) == "devperf: 1 REGRESSED, 1 within noise; compared with base"
    result.stdout.fnmatch_lines(["not selected: 1 case of base"])


CARELESS = """
import random
def test_folder(devperf, tmp_path):
    os.chdir(tmp_path)
    devperf(work)
def test_path(devperf):
    devperf(work)
    sys.path.clear()
def test_environment(devperf):
    os.environ.clear()
    devperf(work)
def test_randomness(devperf):
    random.seed(1)
    devperf(work)
def test_output(devperf):
    devperf(os.write, 1, b"x" * 5000)
def test_last(devperf):
    devperf(work)
"""


@pytest.mark.slow
def test_what_a_test_leaves_changed_in_its_process_ends_neither_it_nor_the_session(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=NOTE + CARELESS)
    assert _measure(suite, "--devperf-save=base", "-p", "no:cacheprovider").ret == 0
    result = _measure(suite, "--devperf-compare=base", "--devperf-tolerance=1000%", "-p", "no:cacheprovider")
    assert result.ret == 0
    assert suite.last_line(result) == "devperf: 6 within noise; compared with base"


def test_a_fresh_interpreter_imports_no_more_than_its_cases_need(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_it=NOTE
        + """
from dataclasses import is_dataclass

def test_it(devperf):
    devperf(work)
    ours = {name: module for name, module in sys.modules.items() if name.startswith("pytest_devperf.")}
    note(
        modules=[*ours, *{"msgspec", "numpy", "psutil", "tabulate"}.intersection(sys.modules)],
        dataclasses=sorted({each.__qualname__ for module in ours.values() for each in vars(module).values()
                            if isinstance(each, type) and is_dataclass(each)}),
    )
"""
    )
    assert _measure(suite).ret == 0
    later = [note["modules"] for note in _notes(suite) if note["start"] != "first"]
    rooms = {name.split(".")[1] if "." in name else name for modules in later for name in modules}
    assert rooms - {"explain"} == {
        "case", "errors", "measure", "metric", "plugin", "sensor", "session", "stats", "targets", "untrusted"
    }  # fmt: skip
    # Nothing of counts, and of profiles only what a result may contain.
    of_others = {name for modules in later for name in modules if name.split(".")[1:2] in (["count"], ["explain"])}
    assert of_others <= {"pytest_devperf.explain", "pytest_devperf.explain.profile"}
    dataclasses = {name for note in _notes(suite) if note["start"] != "first" for name in note["dataclasses"]}
    assert len(dataclasses) <= MOST_DATACLASSES, sorted(dataclasses)


def test_the_idle_machine_is_read_once_for_all_starts_of_a_session(suite: Suite) -> None:
    suite.pytester.makeconftest(
        """
import pathlib
from pytest_devperf.sensor.context import Context
from pytest_devperf.sensor.host.machine import Machine

def prerun(machine, clock):
    with pathlib.Path(__file__).with_name("read.txt").open("a") as file:
        file.write("idle ")
    return Context(at_ns=0, cpu_pct=3.0, free_ram_mb=4000.0)

Machine.prerun = prerun
"""
    )
    suite.pytester.makepyfile(test_it=NOTE + "def test_it(devperf):\n    devperf(work)\n    note()\n")
    assert _measure(suite).ret == 0
    assert [note["start"] for note in _notes(suite)] == ["first", "1", "2"]
    assert (suite.path / "read.txt").read_text() == "idle "
    (case,) = suite.cases().values()
    assert (case["run_context"]["prerun_cpu_pct"], case["run_context"]["prerun_free_ram_mb"]) == (3.0, 4000.0)

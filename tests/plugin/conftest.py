"""Small suites run by a real pytest, most of them on a device made of arithmetic."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.sensor.instrument import read_instrument

LOADED_ONCE = (
    "hypothesis",
    "tabulate",
    "pytest_devperf.compare.compare",
    "pytest_devperf.plugin.configure",
    "pytest_devperf.sensor.host.machine",
    "pytest_devperf.store.folder",
    "pytest_devperf.targets.host.call",
    "pytest_devperf.targets.host.target",
    "pytest_devperf.targets.host.identity",
)
"""pytester forgets what a suite imported, and would import it again for every one: half of each run's time."""

for _name in LOADED_ONCE:
    importlib.import_module(_name)

UNUSED = ("anyio", "asyncio", "benchmark", "html", "html_fixtures", "hypothesispytest", "pytest_cov", "randomly")
"""Installed plugins that few tests need: importing them is two thirds of an interpreter's start."""


@pytest.fixture(autouse=True)
def few_plugins(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block these plugins in the sessions of tests that are not marked `every_plugin`."""
    if "pytester" in request.fixturenames:
        request.getfixturevalue("pytester")  # it discards the options of the environment
    if request.node.get_closest_marker("every_plugin") is None:
        monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in UNUSED))


VIRTUAL_DEVICE = '''
"""A device made of arithmetic: `devperf_time.json` contains the durations of calls on it, in ns.

`name` is a function's time, `name@2` its time in the process start of index 2 alone.
"""

import itertools
import json
import math
import pathlib
from contextlib import contextmanager

from pytest_devperf.sensor.context import Context, CpuSet
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.protocol import Memory


class VirtualClock:
    def __init__(self):
        self.ns = 0

    def now_ns(self):
        self.ns += 100
        return self.ns

    def sleep(self, seconds):
        self.ns += int(seconds * 1e9)


class VirtualRunner:
    load_ns = 2_000_000

    def __init__(self, clock, script, name, process):
        self.clock, self.script, self.name, self.process = clock, script, name, process
        self.wobble = itertools.cycle((0, 1, 2, 3, 4))
        self.layout = (0, 2, 1, 3, 1, 0, 2)[process % 7] / 1000

    def run(self, iterations, inner_loops):
        base = self.script.get(self.name, self.script.get("*", 1_000_000))
        base = self.script.get(f"{self.name}@{self.process}", base)
        if not math.isfinite(base) or base <= 0:
            return [base] * iterations
        samples = [round(base * (1 + self.layout + next(self.wobble) / 500)) for _ in range(iterations)]
        self.clock.ns += sum(samples)
        return samples

    def anchor(self):
        return 50_000 + next(self.wobble)

    def memory(self, iterations):
        return Memory(baseline=50 << 20, loaded=60 << 20, peak=70 << 20, disposed=50 << 20)

    def result(self):
        return self.value


class VirtualTarget:
    def __init__(self, clock, script):
        self.clock, self.script = clock, script
        self.device = Device(kind="virtual", model=script.get("model", "one"), cores=8, memory_gib=8)

    def look(self):
        facts = dict(self.script.get("context", {}))
        if "cpu_set" in facts:
            facts["cpu_set"] = CpuSet(**facts["cpu_set"])
        return Context(at_ns=self.clock.now_ns(), anchor="virtual", **facts)

    @contextmanager
    def start(self, workload, process):
        function = workload.function
        value = function(*workload.args, **workload.kwargs)
        runner = VirtualRunner(self.clock, self.script, getattr(function, "__name__", "*"), process)
        runner.value = value
        yield runner


CLOCK = VirtualClock()


def pytest_devperf_clock(config):
    return CLOCK if config.option.devperf_target == "virtual" else None


def pytest_devperf_make_target(config, spec):
    if spec != "virtual":
        return None
    path = pathlib.Path(config.rootpath, "devperf_time.json")
    return VirtualTarget(CLOCK, json.loads(path.read_text()) if path.exists() else {})
'''


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


class Suite:
    """A user's folder with tests in it, on the virtual device."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path
        self.ini()
        pytester.makeconftest(VIRTUAL_DEVICE)

    def ini(self, *lines: str) -> None:
        """Write the ini file, for whichever plugins are installed."""
        # Tests of a suite run in the order in which they are written.
        fixed = ["addopts = -p no:randomly"]
        if _is_installed("pytest_asyncio.plugin"):
            fixed.append("asyncio_default_fixture_loop_scope = function")  # without this key it warns
        self.pytester.makeini("\n".join(["[pytest]", *fixed, *lines, ""]))

    def takes(self, **ns: object) -> None:
        """Set the durations of functions on the device, in ns, and its context."""
        (self.path / "devperf_time.json").write_text(json.dumps(ns))

    def run(self, *args: str) -> pytest.RunResult:
        """Run on the virtual device."""
        # These tests themselves may be measured for coverage.
        traced = [] if read_instrument() is None else ["--devperf-accept=instrumented"]
        return self.pytester.runpytest_inprocess("--devperf-target=virtual", *traced, *args)

    def run_plain(self, *args: str) -> pytest.RunResult:
        """Run without any option of ours."""
        return self.pytester.runpytest_inprocess(*args)

    def run_here(self, *args: str, plugins: Sequence[str] | None = (), explain: str | None = "off") -> pytest.RunResult:
        """Run on this machine, in a separate process that nothing traces; cautions of a busy machine are accepted.

        Args:
            *args: Command line.
            explain: Which changes are explained, in process starts that few tests need; None: as by default.
            plugins: Other plugins to load: interpreters start faster without all that are installed.
                None: those that are installed, as everywhere.
        """
        words: list[str] = []
        self.pytester._monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        if plugins is None:
            words = ["-p", "no:randomly"]
        else:
            self.pytester._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            words = [word for name in ("pytest_devperf.plugin", *plugins) for word in ("-p", name)]
        words += [] if explain is None else [f"--devperf-explain={explain}"]
        return self.pytester.runpytest_subprocess(*words, "--devperf-cooldown=off", "--devperf-accept=contended", *args)

    def document(self, name: str = "run.json") -> dict[str, Any]:
        """Read a run document."""
        return json.loads((self.path / name).read_text(encoding="utf-8"))

    def cases(self, name: str = "run.json") -> dict[str, dict[str, Any]]:
        """Read the cases of a run document's first run by their ids."""
        return {case["id"]: case for case in self.document(name)["runs"][0]["cases"]}

    def last_line(self, result: pytest.RunResult) -> str:
        """The line of ours that counts every outcome."""
        return next(line for line in reversed(result.outlines) if line.startswith("devperf: "))

    def flat(self, result: pytest.RunResult) -> str:
        """The output as one line: sentences are wrapped to the terminal."""
        return " ".join(result.stdout.str().split())

    def saved(self) -> list[Path]:
        """List the saved runs."""
        return sorted(each for each in (self.path / ".devperf").rglob("*.json") if each.is_file())


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    return Suite(pytester)


TWO_CASES = """
def fast():
    return 1

def slow():
    return 2

def test_fast(devperf):
    assert devperf(fast) == 1

def test_slow(devperf):
    assert devperf(slow) == 2

def test_ordinary():
    pass
"""


@pytest.fixture
def two_cases(suite: Suite) -> Suite:
    suite.pytester.makepyfile(test_two=TWO_CASES)
    return suite

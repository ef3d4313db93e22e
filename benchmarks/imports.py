"""Measure what a fresh interpreter of a measuring session imports on top of what Python and pytest import themselves.

    python benchmarks/imports.py [--repeat N] [PYTHON ...]

Further interpreters name environments with other versions of the plugin; all alternate in one run. Every module's own
time is CPU time, and the least of all runs counts, so that other programs on the machine change it little. Modules that
a bare pytest imports for the same tests are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

TIMER = """
import atexit, importlib.machinery, json, os, sys, time

SELF_NS, INNER_NS = {}, [0]
BASE = importlib.machinery.SourceFileLoader, importlib.machinery.ExtensionFileLoader

def timed(loader):
    execute = loader.exec_module
    def exec_module(self, module):
        INNER_NS.append(0)
        began = time.process_time_ns()
        try:
            return execute(self, module)
        finally:
            took = time.process_time_ns() - began
            SELF_NS[module.__name__] = SELF_NS.get(module.__name__, 0) + took - INNER_NS.pop()
            INNER_NS[-1] += took
    loader.exec_module = exec_module

for each in BASE:
    timed(each)

def write():
    folder = os.environ["IMPORTS_FOLDER"]
    place = os.environ.get("PYTEST_DEVPERF_PROCESS", "0")
    with open(os.path.join(folder, f"{os.getpid()}-{place}.json"), "w") as file:
        json.dump(SELF_NS, file)

atexit.register(write)
"""
"""A `sitecustomize` that notes each module's own CPU time."""

TESTS = """
def test_one(devperf):
    devperf(sum, range(50))
"""

PLAIN = "def test_one(): pass\n"

SESSION = ("--devperf", "--devperf-processes=2", "--devperf-rounds=2", "--devperf-iterations=5", "--devperf-no-confirm")


def imported(python: str, folder: Path, *, measuring: bool) -> dict[str, int]:
    """Run a session and return each module's own time in ns: that of a fresh interpreter, or of a bare pytest."""
    for old in folder.glob("*.json"):
        old.unlink()
    (folder / "test_one.py").write_text(TESTS if measuring else PLAIN)
    plugins = ("-p", "pytest_devperf.plugin", *SESSION) if measuring else ()
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(folder / "site"),
        "IMPORTS_FOLDER": str(folder),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugins, str(folder / "test_one.py")]
    subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    (found,) = folder.glob("*-1.json" if measuring else "*-0.json")
    read: dict[str, int] = json.loads(found.read_text())
    return read


def least(found: dict[str, int], more: Mapping[str, int]) -> None:
    """Keep the least time of each module."""
    for name, time_ns in more.items():
        found[name] = min(found.get(name, time_ns), time_ns)


def main() -> None:
    """Print the time and number of the modules on top of pytest's, and the slowest of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--slowest", type=int, default=0, help="modules to list")
    parser.add_argument("python", nargs="*", help="interpreters of other environments")
    asked = parser.parse_args()
    pythons = [*asked.python, sys.executable]
    own: dict[str, dict[str, int]] = {python: {} for python in pythons}
    bare: dict[str, dict[str, int]] = {python: {} for python in pythons}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "site").mkdir()
        (folder / "site" / "sitecustomize.py").write_text(TIMER)
        for _ in range(asked.repeat + 1):
            for python in pythons:
                least(bare[python], imported(python, folder, measuring=False))
                least(own[python], imported(python, folder, measuring=True))
    for number, python in enumerate(pythons, 1):
        added = {name: time_ns for name, time_ns in own[python].items() if name not in bare[python]}
        ours = {name: time_ns for name, time_ns in added.items() if name.startswith("pytest_devperf")}
        print(
            f"environment {number}: bare pytest {_ms(bare[python])}; a fresh interpreter adds {_ms(added)}, "
            f"of these pytest_devperf's own {_ms(ours)}"
        )
        for name in sorted(added, key=added.__getitem__, reverse=True)[: asked.slowest]:
            print(f"  {added[name] / 1e6:6.2f} ms  {name}")


def _ms(found: Mapping[str, int]) -> str:
    return f"{sum(found.values()) / 1e6:.0f} ms in {len(found)} modules"


if __name__ == "__main__":
    main()

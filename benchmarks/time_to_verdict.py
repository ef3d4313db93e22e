"""Measure how long the verdict of unchanged code takes: this plugin, pytest-benchmark and pyperf.

Run it with `python -m benchmarks.time_to_verdict`. Each tool saves a suite of 16 cases, from about 50 us to 20 ms per
call, once and compares it unchanged; the tools take turns, so that all run under the same conditions. It prints wall
times, their ratio to this plugin's, and the timed values per case. It asserts nothing: times depend on the
machine.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median

from benchmarks.verdicts.real import call, pytest_call
from benchmarks.verdicts.table import laid_out

CASES = 16
"""The size of a suite in the tables of verdicts."""

WORK = '''
"""Four kinds of work in four lengths each, from about 50 us to 20 ms on a machine of a few GHz."""
import hashlib, json

NUMBERS = [(7919 * index) % 1009 for index in range(30)]
TREE = {str(index): [index, str(index)] for index in range(6)}
TEXT = b"x" * 2000

def arithmetic(units):
    total = 0
    for index in range(units * 20):
        total += index * index

def sorting(units):
    for _ in range(units):
        sorted(NUMBERS)

def dumping(units):
    for _ in range(units):
        json.dumps(TREE)

def hashing(units):
    for _ in range(units):
        hashlib.sha256(TEXT).digest()

KINDS = (arithmetic, sorting, dumping, hashing)
UNITS = (40, 200, 1000, 5000)

def run(case):
    KINDS[case % 4](UNITS[case // 4])
'''

PLAIN = "pytest, each case once"
OWN = "devperf"
BENCHMARK = "pytest-benchmark"
PYPERF = "pyperf"

PYPERF_CASES = 4
"""pyperf runs 20 processes per case, whatever its duration: a few cases are enough to extrapolate."""


@dataclass(slots=True)
class Seen:
    """The times of a tool, and what it timed."""

    save_s: float | None = None
    """Time of the saved run."""
    compare_s: list[float] = field(default_factory=list)
    """Time of the whole suite, extrapolated if fewer cases were run."""
    values: list[float] = field(default_factory=list)
    """Timed values per case and run."""
    calls: list[float] = field(default_factory=list)
    """Calls of the code in these values, per case and run."""


Tool = Callable[[Path, Seen], None]
"""Compares the suite once; the first time, it saves before."""


def write_suite(folder: Path) -> None:
    """Write the work, cases for both plugins, and an ini file that isolates them from the folders above."""
    (folder / "work.py").write_text(WORK)
    (folder / "pytest.ini").write_text("[pytest]\n")
    for fixture in ("devperf", "benchmark"):
        head = f'import pytest\nimport work\n\n@pytest.mark.parametrize("case", range({CASES}))\n'
        (folder / f"test_{fixture}.py").write_text(
            f"{head}def test_work({fixture}, case):\n    {fixture}(work.run, case)\n"
        )


def run_plain(folder: Path, seen: Seen) -> None:
    """Run the cases as ordinary tests: the time of pytest and one call of each."""
    seen.compare_s.append(pytest_call(folder, 0.0, "-p", "no:benchmark", "test_devperf.py"))


def run_devperf(folder: Path, seen: Seen) -> None:
    """Compare with a saved run, even if the thread has to wait for a CPU, which would be refused by default."""
    file = folder / "devperf.json"
    own = ["-p", "no:benchmark", "test_devperf.py", "--devperf-store=store", "--devperf-accept=contended"]
    if seen.save_s is None:
        seen.save_s = pytest_call(folder, 0.0, *own, "--devperf-save=base")
    seen.compare_s.append(pytest_call(folder, 0.0, *own, "--devperf-compare=base", f"--devperf-json={file}"))
    for case in json.loads(file.read_text())["runs"][0]["cases"]:
        metric = next(each for each in case["metrics"] if each["main"])
        again = metric["confirmation"] or {"samples_ns": ()}
        values = sum(map(len, metric["samples_ns"])) + sum(map(len, again["samples_ns"]))
        seen.values.append(values)
        seen.calls.append(values * metric["inner_loops"])


def run_benchmark(folder: Path, seen: Seen) -> None:
    """Compare with `--benchmark-compare` and default settings."""
    file = folder / "benchmark.json"
    own = ["-p", "no:devperf", "test_benchmark.py"]
    if seen.save_s is None:
        seen.save_s = pytest_call(folder, 0.0, *own, "--benchmark-autosave")
    seen.compare_s.append(pytest_call(folder, 0.0, *own, "--benchmark-compare", f"--benchmark-json={file}"))
    for each in json.loads(file.read_text())["benchmarks"]:
        seen.values.append(each["stats"]["rounds"])
        seen.calls.append(each["stats"]["rounds"] * each["stats"]["iterations"])


def run_pyperf(folder: Path, seen: Seen, cases: Sequence[int]) -> None:
    """Time some cases with pyperf's defaults, extrapolated to all; `compare_to` is added."""
    pyperf = importlib.import_module("pyperf")  # it has no type information
    took_s = 0.0
    for case in cases:
        file = folder / "pyperf.json"
        file.unlink(missing_ok=True)
        argv = [sys.executable, "-m", "pyperf", "timeit", "-q", "--inherit-environ=PYTHONPATH", "-o", str(file)]
        took_s += call([*argv, "-s", "import work", f"work.run({case})"], folder, 0.0)[1]
        took_s += call([sys.executable, "-m", "pyperf", "compare_to", str(file), str(file)], folder, 0.0)[1] / len(
            cases
        )
        suite = pyperf.BenchmarkSuite.load(str(file)).get_benchmarks()[0]
        seen.values.append(suite.get_nvalue())
        seen.calls.append(suite.get_nvalue() * suite.get_total_loops())
    seen.compare_s.append(took_s * CASES / len(cases))


def take_turns(tools: dict[str, Tool], repetitions: int) -> dict[str, Seen]:
    """Run the tools in turn, in an order that rotates with every repetition."""
    found = {name: Seen() for name in tools}
    names = list(tools)
    with tempfile.TemporaryDirectory(prefix="devperf-verdict-") as place:
        write_suite(Path(place))
        for index in range(repetitions):
            turn = index % len(names)
            for name in names[turn:] + names[:turn]:
                tools[name](Path(place), found[name])
    return found


def rows_of(found: dict[str, Seen]) -> list[list[str]]:
    """Format the table; ratios are relative to this plugin's median."""
    rows = [["tool", "saving", "unchanged suite compared", "of devperf's", "values per case", "calls per case"]]
    own_s = median(found[OWN].compare_s)
    for name, seen in found.items():
        low, middle, high = min(seen.compare_s), median(seen.compare_s), max(seen.compare_s)
        rows.append(
            [
                name,
                f"{seen.save_s:.1f} s" if seen.save_s is not None else "",
                f"{middle:.1f} s ({low:.1f} to {high:.1f})",
                f"{middle / own_s:.2f}x",
                f"{mean(seen.values):.0f}" if seen.values else "",
                f"{mean(seen.calls):.0f}" if seen.calls else "",
            ]
        )
    return rows


def main(argv: list[str]) -> int:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.time_to_verdict", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3, help="comparisons by each tool")
    parser.add_argument("--pyperf-cases", type=int, default=PYPERF_CASES, help="cases that pyperf is given; 0: none")
    parser.add_argument("--markdown", action="store_true")
    chosen = parser.parse_args(argv)
    tools: dict[str, Tool] = {PLAIN: run_plain, OWN: run_devperf, BENCHMARK: run_benchmark}
    if chosen.pyperf_cases:
        # Spread over durations and kinds of work: 0, 5, 10, 15 for four of sixteen.
        last = max(1, chosen.pyperf_cases - 1)
        cases = [round(index * (CASES - 1) / last) for index in range(chosen.pyperf_cases)]
        scaled = f"{PYPERF}, {len(cases)} cases scaled to {CASES}" if len(cases) < CASES else PYPERF
        tools[scaled] = lambda folder, seen: run_pyperf(folder, seen, cases)
    print(laid_out(rows_of(take_turns(tools, chosen.repetitions)), markdown=chosen.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Real code on the machine at hand: `python -m benchmarks.verdicts.real`.

A small suite is written to a temporary folder, measured in real runs of pytest, and measured again unchanged (A/A) and
with 5 %, 10 % and 25 % more work (A/B). pytest-benchmark and pyperf measure the same functions in turns with it, so
that all run under the same conditions. The order of the variants rotates with every repetition. Nothing is saved;
ratios and rates are printed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.verdicts.table import laid_out

WORK = '''
"""Five kinds of work; DEVPERF_REAL_EXTRA is the fraction by which each does more of it."""
import hashlib, json, os
UNITS = 200
REPEAT = round(UNITS * (1 + float(os.environ.get("DEVPERF_REAL_EXTRA", "0"))))
NUMBERS = [(7919 * index) % 1009 for index in range(30)]
TREE = {str(index): [index, str(index)] for index in range(6)}
TEXT = b"x" * 2000

def arithmetic():
    total = 0
    for index in range(REPEAT * 20):
        total += index * index
    return total

def sorting():
    for _ in range(REPEAT):
        sorted(NUMBERS)

def dumping():
    for _ in range(REPEAT):
        json.dumps(TREE)

def hashing():
    for _ in range(REPEAT):
        hashlib.sha256(TEXT).digest()

def building():
    for _ in range(REPEAT):
        {number: str(number) for number in NUMBERS}
'''
NAMES = ("arithmetic", "sorting", "dumping", "hashing", "building")
EXTRAS = (0.0, 0.05, 0.10, 0.25)
CHECKED = ("min", "median", "mean")
BEYOND = 1.05
"""The change allowed by `--benchmark-compare-fail=FIELD:5%`."""

RUN_LIMIT_S = 600.0


@dataclass(slots=True)
class Seen:
    """The results of one tool for one variant."""

    ratios: list[float] = field(default_factory=list)
    failed: int = 0
    unjudged: int = 0
    """Refused as incomparable, or inconclusive."""
    took_s: list[float] = field(default_factory=list)


Results = dict[tuple[str, float], Seen]
"""(tool, extra work) -> results."""


def write_suite(folder: Path) -> None:
    """Write work, cases for both plugins, and an ini that shields them from the folders above."""
    (folder / "work.py").write_text(WORK)
    (folder / "pytest.ini").write_text("[pytest]\n")
    for fixture in ("devperf", "benchmark"):
        cases = "".join(f"def test_{name}({fixture}):\n    {fixture}(work.{name})\n\n" for name in NAMES)
        (folder / f"test_{fixture}.py").write_text(f"import work\n\n{cases}")


def call(argv: Sequence[str], folder: Path, extra: float) -> tuple[str, float]:
    """Run a command in the suite's folder; return its output and its duration."""
    environment = {**os.environ, "DEVPERF_REAL_EXTRA": str(extra), "PYTHONPATH": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # every process start would compile pytest's plugins again
    began = time.monotonic()
    done = subprocess.run(
        argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False
    )
    if done.returncode not in {0, 1}:
        raise RuntimeError(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout, time.monotonic() - began


def pytest_call(folder: Path, extra: float, *arguments: str) -> float:
    """Run pytest on the suite, without plugins that are not part of the comparison."""
    base = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"]
    return call([*base, *arguments], folder, extra)[1]


def devperf_session(folder: Path, extras: Sequence[float], results: Results, label: str) -> None:
    """Save once, then compare every variant with it."""
    file = folder / "devperf.json"
    own = ["-p", "no:benchmark", "test_devperf.py", "--devperf-store=store"]
    pytest_call(folder, 0.0, *own, f"--devperf-save={label}")
    for extra in extras:
        took_s = pytest_call(folder, extra, *own, f"--devperf-compare={label}", f"--devperf-json={file}")
        seen = results.setdefault(("devperf", extra), Seen())
        seen.took_s.append(took_s)
        for case in json.loads(file.read_text())["runs"][0]["cases"]:
            comparison = case["comparison"]
            seen.failed += comparison["verdict"] == "regressed"
            seen.unjudged += comparison["verdict"] in {"incomparable", "inconclusive"}
            deltas = [change["delta_pct"] for change in comparison["changes"] if change["delta_pct"] is not None]
            seen.ratios.extend(1 + delta / 100 for delta in deltas[:1])


def benchmark_run(folder: Path, extra: float) -> tuple[dict[str, dict[str, float]], float]:
    """Run pytest-benchmark with its defaults; return its statistics by test."""
    file = folder / "benchmark.json"
    own = ["-p", "no:devperf", "test_benchmark.py", f"--benchmark-json={file}"]
    took_s = pytest_call(folder, extra, *own)
    return {each["name"]: each["stats"] for each in json.loads(file.read_text())["benchmarks"]}, took_s


def benchmark_session(folder: Path, extras: Sequence[float], results: Results) -> None:
    """Run pytest-benchmark once, then with every variant; judge as its `--benchmark-compare-fail` does."""
    base, _ = benchmark_run(folder, 0.0)
    for extra in extras:
        now, took_s = benchmark_run(folder, extra)
        for statistic in CHECKED:
            seen = results.setdefault((f"pytest-benchmark {statistic}:5%", extra), Seen())
            seen.took_s.append(took_s)
            for name, stats in now.items():
                ratio = stats[statistic] / base[name][statistic]
                seen.ratios.append(ratio)
                seen.failed += ratio > BEYOND


def pyperf_run(folder: Path, extra: float, name: str, file: Path) -> float:
    """Run pyperf on one function, with 6 processes instead of its 20 to bound the time."""
    file.unlink(missing_ok=True)
    argv = [sys.executable, "-m", "pyperf", "timeit", "-q", "--processes=6", "--values=3", "--warmups=1"]
    inherit = "--inherit-environ=DEVPERF_REAL_EXTRA,PYTHONPATH"
    return call([*argv, inherit, "-o", str(file), "-s", "import work", f"work.{name}()"], folder, extra)[1]


def pyperf_session(folder: Path, extras: Sequence[float], results: Results) -> None:
    """Run pyperf once, then with every variant; judge by its own `compare_to`."""
    pyperf = importlib.import_module("pyperf")  # it ships no types
    for name in NAMES:
        base = folder / "pyperf-base.json"
        pyperf_run(folder, 0.0, name, base)
        for extra in extras:
            now = folder / "pyperf-now.json"
            seen = results.setdefault(("pyperf compare_to", extra), Seen())
            seen.took_s.append(len(NAMES) * pyperf_run(folder, extra, name, now))
            answer, _ = call([sys.executable, "-m", "pyperf", "compare_to", str(base), str(now)], folder, extra)
            seen.failed += "slower" in answer.lower()
            means = [pyperf.BenchmarkSuite.load(str(file)).get_benchmarks()[0].mean() for file in (now, base)]
            seen.ratios.append(means[0] / means[1])


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """Keep busy programs running until the block ends."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(10000))"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in running:
            each.terminate()
        for each in running:
            each.wait()


def repeat(tools: Sequence[str], repetitions: int) -> Results:
    """Run the tools in turns, each with its variants in a rotating order."""
    results: Results = {}
    with tempfile.TemporaryDirectory(prefix="devperf-real-") as name:
        folder = Path(name)
        write_suite(folder)
        for index in range(repetitions):
            turn = index % len(EXTRAS)
            extras = EXTRAS[turn:] + EXTRAS[:turn]
            if "devperf" in tools:
                devperf_session(folder, extras, results, f"turn{index}")
            if "pytest-benchmark" in tools:
                benchmark_session(folder, extras, results)
            if "pyperf" in tools:
                pyperf_session(folder, extras, results)
    return results


def rows_of(results: Results, weather: str) -> list[list[str]]:
    """Format the results, a row per tool and variant."""
    rows = []
    for (tool, extra), seen in sorted(results.items()):
        cases = len(seen.ratios) + seen.unjudged
        low, high = min(seen.ratios, default=0.0), max(seen.ratios, default=0.0)
        rows.append(
            [
                weather,
                tool,
                f"+{100 * extra:.0f} %" if extra else "unchanged",
                f"{100 * seen.failed / max(1, cases):.0f} %",
                f"{100 * seen.unjudged / max(1, cases):.0f} %",
                f"{median(seen.ratios):.3f}" if seen.ratios else "",
                f"{low:.3f} to {high:.3f}" if seen.ratios else "",
                str(cases),
                f"{median(seen.took_s):.0f} s",
            ]
        )
    return rows


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts.real", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3, help="baselines, each compared with every variant")
    parser.add_argument("--tools", nargs="+", default=["devperf", "pytest-benchmark", "pyperf"])
    parser.add_argument("--hogs", type=int, default=1, help="busy programs in the second half; 0 leaves it out")
    parser.add_argument("--markdown", action="store_true")
    chosen = parser.parse_args(argv)
    head = ["weather", "tool", "code", "failed", "not judged", "ratio, median", "ratios", "cases", "one run takes"]
    rows = [head, *rows_of(repeat(chosen.tools, chosen.repetitions), "as it is")]
    if chosen.hogs:
        with hogs(chosen.hogs):
            rows += rows_of(repeat(chosen.tools, chosen.repetitions), f"{chosen.hogs} busy programs")
    print(laid_out(rows, markdown=chosen.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

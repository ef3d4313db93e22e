"""Measure what the installed plugin costs a session that does not use it, compared to pytest-benchmark.

    python benchmarks/startup.py [--pairs N]

Each variant is a pytest that loads only the named plugin. They alternate in one run; the difference to the bare one is
taken pair by pair. CPU time is that of the process itself, so another program on the machine affects it less than the
wall time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BARE = "bare pytest"
VARIANTS = {
    BARE: (),
    "pytest-devperf": ("-p", "pytest_devperf.plugin"),
    "pytest-benchmark": ("-p", "pytest_benchmark.plugin"),
}
FILES, TESTS_PER_FILE = 50, 100
HEAVY = ("numpy", "onnxruntime", "adbutils", "psutil", "msgspec", "tabulate", "matplotlib")

IMPORTED = """
import sys, pytest
pytest.main(["-p", "pytest_devperf.plugin", "--collect-only", "-q", sys.argv[1]])
print("imported:", *sorted(set(sys.argv[2].split(",")) & set(sys.modules)))
"""


@dataclass(frozen=True)
class Cost:
    """Time of one session in ms."""

    wall_ms: float
    cpu_ms: float


def collect(folder: Path, arguments: Sequence[str]) -> Cost:
    """Collect a folder once in a fresh interpreter."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments, "--collect-only", "-q", "-p", "no:cacheprovider", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,  # `python -m` would import the plugin from a checkout in the working directory
        env=environment,
    )
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return Cost((time.perf_counter() - began) * 1000, (usage.ru_utime + usage.ru_stime) * 1000)


def differences(folder: Path, pairs: int) -> dict[str, list[Cost]]:
    """Measure all variants in turn, and subtract the bare one of the same turn from each."""
    found: dict[str, list[Cost]] = {name: [] for name in VARIANTS}
    for turn in range(pairs + 1):
        costs = {name: collect(folder, arguments) for name, arguments in VARIANTS.items()}
        if turn:  # the first turn writes byte code
            for name, cost in costs.items():
                bare = costs[BARE]
                found[name].append(
                    cost if name == BARE else Cost(cost.wall_ms - bare.wall_ms, cost.cpu_ms - bare.cpu_ms)
                )
    return found


def write_tests(folder: Path) -> None:
    """Write five thousand empty tests."""
    for file in range(FILES):
        tests = "\n".join(f"def test_{number}():\n    pass\n" for number in range(TESTS_PER_FILE))
        (folder / f"test_{file:03}.py").write_text(tests)


def main() -> None:
    """Print the cost of each variant when collecting an empty folder and 5,000 tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    pairs = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as name:
        empty, full = Path(name, "empty"), Path(name, "full")
        empty.mkdir()
        full.mkdir()
        write_tests(full)
        for title, folder in (("an empty folder", empty), (f"{FILES * TESTS_PER_FILE} tests", full)):
            print(f"collecting {title}, {pairs} turns: median (quartiles) in ms")
            for variant, costs in differences(folder, pairs).items():
                print(f"  {variant:<18}{'' if variant == BARE else 'adds '}{summary(costs)}")
        imported = subprocess.run(
            [sys.executable, "-c", IMPORTED, str(empty), ",".join(HEAVY)],
            capture_output=True,
            text=True,
            check=True,
            cwd=empty,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        ).stdout
        words = next(line for line in imported.splitlines() if line.startswith("imported:"))
        print(f"heavy packages {words} {'' if words != 'imported:' else 'none'}")


def summary(costs: Sequence[Cost]) -> str:
    """Format medians and quartiles of wall and CPU time."""
    parts = []
    for label, values in (("wall", [cost.wall_ms for cost in costs]), ("cpu", [cost.cpu_ms for cost in costs])):
        low, middle, high = statistics.quantiles(values, n=4)
        parts.append(f"{label} {middle:6.1f} ({low:.1f} to {high:.1f})")
    return ", ".join(parts)


if __name__ == "__main__":
    main()

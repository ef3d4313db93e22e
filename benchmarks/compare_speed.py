"""Measure how long a comparison of many cases takes from disk; asserts nothing.

    python benchmarks/compare_speed.py [--cases 5000] [--runs 5]

Writes a store of saved runs and one more run, every case with 12 rounds of 30 samples, then times
`devperf compare` as a user would call it and its parts within one process. Where pytest-benchmark is
installed the same numbers are given to its own `compare`, with and without the raw data.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from pytest_devperf.compare.compare import compare
from pytest_devperf.compare.history import index
from pytest_devperf.compare.policy import Policy
from pytest_devperf.record.derived import derive
from pytest_devperf.record.record import DeviceRecord, Measurement, Record, Run, WorkloadRecord
from pytest_devperf.store.folder import FolderStore

ROUNDS, ITERATIONS, STARTS = 12, 30, 3

T = TypeVar("T")

DEVICE = DeviceRecord(fingerprint="0123456789ab", kind="host", soc="made up")


def main() -> None:
    """Build the runs, time the comparisons, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=5, help="saved runs beside the one that is compared")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = [made_run("new", 0, asked.cases), *(made_run("base", n + 1, asked.cases) for n in range(asked.runs))]
        print(f"{asked.cases} cases x {asked.runs} saved runs and a new one, {ROUNDS * ITERATIONS} samples each")
        ours = time_ours(Path(folder), runs)
        time_peers(Path(folder), runs, ours)


def made_run(label: str, seed: int, cases: int) -> Run:
    """Build a synthetic run: cases of some microseconds, with noise between and within rounds."""
    chance = random.Random(seed)
    taken_at = f"2026-11-{seed + 1:02}T00:00:00Z"
    return Run(
        id=f"run{seed}",
        label=label,
        generation="2026-11-01T00:00:00Z",
        taken_at=taken_at,
        devperf_version="0",
        device=DEVICE,
        cases=tuple(made_case(f"test_many.py::test_case[{n}]", 100_000 + 37 * n, chance) for n in range(cases)),
    )


def made_case(case_id: str, ns: int, chance: random.Random) -> Record:
    """Build a synthetic case."""
    rows = []
    for _ in range(ROUNDS):
        centre = ns * chance.uniform(1, 1.01)
        rows.append(tuple(float(round(centre * (1 + 0.01 * chance.random()))) for _ in range(ITERATIONS)))
    measurement = Measurement(
        name="latency",
        unit="ms",
        main=True,
        process=tuple(r * STARTS // ROUNDS for r in range(ROUNDS)),
        inner_loops=1,
        samples_ns=tuple(rows),
        planned_rounds=ROUNDS,
        stop="done",
    )
    return Record(
        id=case_id,
        workload=WorkloadRecord(fingerprint="w", kind="call"),
        metrics=(derive(measurement),),
        iterations=ITERATIONS,
        processes=STARTS,
    )


def time_ours(folder: Path, runs: Sequence[Run]) -> float:
    """Time saving, the parts of a comparison, and the whole command; return the time of the command."""
    store = FolderStore(folder / "store")
    _, paths = timed("save all runs", lambda: [store.save(run) for run in runs])
    print(f"{'':52} {sum(Path(path).stat().st_size for path in paths) / 1e6:7.0f} MB")
    _, saved = timed("read and validate the saved runs", lambda: store.runs(DEVICE.fingerprint, "base", newest=True))
    _, baselines = timed("find the baselines", lambda: index(saved, DEVICE.fingerprint))
    policy = Policy(confirm=False)
    timed("compare", lambda: [compare(record, baselines[record.id], policy) for record in runs[0].cases])
    command = [sys.executable, "-m", "pytest_devperf.cli", "compare", "base", "--to", "new", "--store", str(store.path)]
    spent, _ = timed(
        "devperf compare, the whole command", lambda: subprocess.run(command, capture_output=True, check=True)
    )
    return spent


def time_peers(folder: Path, runs: Sequence[Run], ours: float) -> None:
    """Time pytest-benchmark's comparison of the same numbers."""
    if find_spec("pytest_benchmark") is None:
        print("pytest-benchmark is not installed: no peer to compare with")
        return
    for name, with_data in (("summaries alone", False), ("with raw data", True)):
        storage = folder / f"peer-{with_data}"
        machine = storage / "Linux-CPython-3.11-64bit"
        machine.mkdir(parents=True)
        for number, run in enumerate((*runs[1:], runs[0]), 1):
            (machine / f"{number:04}_run.json").write_text(json.dumps(peer_document(run, with_data=with_data)))
        command = [
            sys.executable,
            "-m",
            "pytest_benchmark",
            "--storage",
            f"file://{storage}",
            "compare",
            "--group-by=name",
        ]
        spent, _ = timed(
            f"pytest-benchmark compare, {name}",
            # In another folder, since it imports the conftest.py of the working directory.
            lambda command=command: subprocess.run(command, cwd=folder, capture_output=True, check=True),
        )
        print(f"{'':52} {spent / ours:7.1f} x ours")


def peer_document(run: Run, *, with_data: bool) -> dict[str, object]:
    """Convert a run to pytest-benchmark's format."""
    return {
        "machine_info": {"node": "n", "cpu": {"brand_raw": "made up"}},
        "commit_info": {"id": "0" * 40, "time": run.taken_at, "dirty": False},
        "datetime": run.taken_at,
        "version": "5.0.0",
        "benchmarks": [peer_case(record, with_data=with_data) for record in run.cases],
    }


def peer_case(record: Record, *, with_data: bool) -> dict[str, object]:
    """Convert a case to pytest-benchmark's format."""
    data = [ns / 1e9 for row in record.metrics[0].samples_ns or () for ns in row]
    q1, median, q3 = statistics.quantiles(data, n=4, method="inclusive")
    mean = statistics.fmean(data)
    stats: dict[str, object] = {
        "min": min(data),
        "max": max(data),
        "mean": mean,
        "stddev": statistics.pstdev(data, mean),
        "rounds": len(data),
        "median": median,
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": 0,
        "stddev_outliers": 0,
        "outliers": "0;0",
        "ld15iqr": min(data),
        "hd15iqr": max(data),
        "ops": 1 / mean,
        "total": sum(data),
        "iterations": 1,
    }
    if with_data:
        stats["data"] = data
    name = record.id.rpartition("::")[2]
    return {
        "group": None,
        "name": name,
        "fullname": record.id,
        "params": None,
        "param": None,
        "extra_info": {},
        "options": {},
        "stats": stats,
    }


def timed(what: str, work: Callable[[], T]) -> tuple[float, T]:
    """Run a function, print how long it took, and return its CPU seconds, including those of child processes.

    The ratios use CPU time: on a busy machine, wall time includes other programs.
    """
    started, used = time.perf_counter(), _cpu_s()
    result = work()
    wall_s, cpu_s = time.perf_counter() - started, _cpu_s() - used
    print(f"{what:52} {wall_s:7.2f} s  {cpu_s:7.2f} s of CPU")
    return cpu_s, result


def _cpu_s() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


if __name__ == "__main__":
    main()

"""Measure how seconds, memory and disk space grow with the number of saved cases and runs; asserts nothing.

    python benchmarks/scale.py [--cases 1000 3000 10000] [--runs 100] [--peer-runs 10]

For each number of cases, saves one run as a session does, writes further runs of the same size beside it, and starts
the commands that a user would start on that store, each in a new process. `first` is the first command that needs the
outlines of all runs, which are kept in a cache.

If pytest-benchmark is installed, the same cases are written in its format, with the raw data, and its own `list` and
`compare` of one column run on them. It reads all chosen runs at once, so it gets fewer runs if `--peer-runs` says so.

Times are of the wall, and of CPU, which other programs disturb less. Memory is the largest resident size of the
process that ran the command.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from compare_speed import DEVICE, ITERATIONS, ROUNDS, made_case, peer_document
from msgspec.structs import replace

from pytest_devperf.record.record import Commit, Record, Run, WorkloadRecord
from pytest_devperf.sensor.context import RunContext
from pytest_devperf.store.folder import FolderStore

T = TypeVar("T")

LABEL = "main"

MB = 1e6

PATTERNS = 200
"""Different cases that are made; further ones get the same samples, shifted: making them takes longer than saving."""


@dataclass(frozen=True)
class Spent:
    """What a command took."""

    seconds: float
    cpu_s: float
    peak_mb: float

    def __str__(self) -> str:
        """Three columns."""
        return f"{self.seconds:8.2f} s {self.cpu_s:8.2f} s of CPU {self.peak_mb:7.0f} MB"


def main() -> None:
    """Print a table for every number of cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, nargs="+", default=[1000, 3000, 10000])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--peer-runs", type=int, default=10, help="runs for pytest-benchmark; 0: do not run it")
    parser.add_argument("--folder", help="where to write the stores (default: the system's folder for temporary files)")
    parser.add_argument("--make", nargs=2, metavar=("KIND", "FOLDER"), help=argparse.SUPPRESS)  # started by itself
    asked = parser.parse_args()
    if asked.make:
        kind, folder = asked.make
        (make_store if kind == "store" else make_peer_storage)(Path(folder), asked.cases[0], asked.runs)
        return
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{ROUNDS * ITERATIONS} samples per case; {os.cpu_count()} CPUs{load}")
    for cases in asked.cases:
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            print(f"\n{cases} cases x {asked.runs} runs")
            time_ours(Path(folder), cases, asked.runs)
        if asked.peer_runs and find_spec("pytest_benchmark") is not None:
            with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
                time_peer(Path(folder), cases, asked.peer_runs)


def made_run(cases: int, seed: int) -> Run:
    """Make a run with the facts that a session records."""
    chance = random.Random(seed)
    patterns = [made_case("", 100_000 + 37 * n, chance) for n in range(min(cases, PATTERNS))]
    return Run(
        id="0000first",
        label=LABEL,
        taken_at="2026-01-01T00:00:00Z",
        devperf_version="0",
        commit=Commit(id="0" * 40, dirty=False, branch="main"),
        device=DEVICE,
        cases=tuple(_named(patterns[n % len(patterns)], n) for n in range(cases)),
    )


def _named(pattern: Record, number: int) -> Record:
    test = f"test_case[{number}]"
    samples_ns = tuple(tuple(each + number for each in row) for row in pattern.metrics[0].samples_ns or ())
    measurement = replace(
        pattern.metrics[0],
        samples_ns=samples_ns,
        cpu_ns=tuple(100_000 + n for n in range(ROUNDS)),
        anchor_ns=tuple(150_000.0 + n for n in range(ROUNDS)),
        ran_ns=tuple(3_000_000 + n for n in range(ROUNDS)),
    )
    return replace(
        pattern,
        id=f"tests/test_many.py::{test}",
        path="tests/test_many.py",
        test=test,
        workload=WorkloadRecord(fingerprint="0123456789abcdef", kind="call"),
        metrics=(measurement,),
        run_context=RunContext(prerun_cpu_pct=3.0, prerun_free_ram_mb=16000.0),
    )


def make_store(store: Path, cases: int, runs: int) -> None:
    """Save one run and print what that took, then write the other runs."""
    run = made_run(cases, 1)
    spent, path = measured(lambda: FolderStore(store).save_in_generation(run, append=False))
    first = Path(path)
    row("save one run", spent, size_words(first, cases))
    for data, name in copies(first, runs - 1):
        (first.parent / name).write_bytes(data)


def make_peer_storage(storage: Path, cases: int, runs: int) -> None:
    """Write one run as pytest-benchmark does and print what that took, then copy it."""
    machine = storage / "Linux-CPython-3.11-64bit"
    machine.mkdir(parents=True)
    document = peer_document(made_run(cases, 1), with_data=True)
    first = machine / "0001_run.json"
    spent, _ = measured(lambda: first.write_text(json.dumps(document, indent=4)))
    row("write one run", spent, size_words(first, cases))
    for number in range(2, runs + 1):
        shutil.copyfile(first, machine / f"{number:04}_run.json")


def measured(work: Callable[[], T]) -> tuple[Spent, T]:
    """Do some work here; the peak memory is that of this process so far, including what it works on."""
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    result = work()
    took_s, used_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    return Spent(took_s, used_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MB), result


def size_words(file: Path, cases: int) -> str:
    """Describe the size of a run on disk."""
    size = file.stat().st_size
    return f"{size / MB:.1f} MB, {size / cases / 1e3:.1f} kB per case"


def make(kind: str, folder: Path, cases: int, runs: int) -> None:
    """Make the runs in a process of their own: a command that is started inherits the peak memory of its parent."""
    me = [sys.executable, __file__, "--make", kind, str(folder), "--cases", str(cases), "--runs", str(runs)]
    subprocess.run(me, check=True)


def time_ours(folder: Path, cases: int, runs: int) -> None:
    """Save runs, and time the commands."""
    store = folder / "store"
    make("store", store, cases, runs)
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "120"}
    devperf = [sys.executable, "-m", "pytest_devperf.cli"]
    case = f"test_case[{cases // 2}]"
    for what, words in (
        ("list", ["list"]),
        ("list -v, first", ["list", "-v"]),
        ("list -v", ["list", "-v"]),
        ("history of one case", ["history", case, "--label", LABEL]),
        ("compare", ["compare", LABEL, "--to", LABEL]),
        ("report, HTML", ["report", LABEL, "--baseline", LABEL, "-o", "report.html"]),
        ("report with history, HTML", ["report", LABEL, "--history", LABEL, "-o", "report.html"]),
    ):
        row(what, started([*devperf, *words, "--store", str(store)], environment, folder))
    kept = sum(each.stat().st_size for each in (folder / "cache").rglob("*") if each.is_file())
    print(f"  {'cache of outlines':28} {'':37} {kept / MB:.1f} MB, {kept / runs / cases:.0f} B per case and run")


def copies(first: Path, count: int) -> Iterator[tuple[bytes, str]]:
    """Make further runs of a saved one: other ids, times and generations, the same cases."""
    data = first.read_bytes()
    head, rest = data[:4096], data[4096:]
    for number in range(1, count + 1):
        taken_at = f"2026-{2 + number // 28:02}-{1 + number % 28:02}T00:00:00Z"
        changed = head.replace(b"2026-01-01T00:00:00Z", taken_at.encode()).replace(b"0000first", b"run%06d" % number)
        yield changed + rest, f"{taken_at.replace(':', '-')}-run{number:06}.json"


def time_peer(folder: Path, cases: int, runs: int) -> None:
    """Write the same cases as pytest-benchmark does, and time its commands."""
    print(f"\npytest-benchmark, {cases} cases x {runs} runs, with raw data")
    storage = folder / "peer"
    make("peer", storage, cases, runs)
    words = [sys.executable, "-m", "pytest_benchmark", "--storage", f"file://{storage}"]
    for what, more in (
        ("list", ["list"]),
        ("compare of two runs", ["compare", "0001", "0002", "--group-by=name", "--columns=median"]),
        (f"compare of {runs} runs", ["compare", "--group-by=name", "--columns=median"]),
    ):
        row(what, started([*words, *more], dict(os.environ), folder))


def started(words: Sequence[str], environment: dict[str, str], folder: Path) -> Spent:
    """Run a command; return what it took."""
    with tempfile.TemporaryFile() as errors:
        began_s = time.perf_counter()
        process = subprocess.Popen(words, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        took_s = time.perf_counter() - began_s
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"{' '.join(words)} ended with {process.returncode}\n{errors.read().decode()[-2000:]}")
        return Spent(took_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / MB)


def row(what: str, spent: Spent, more: str = "") -> None:
    """Print a row of the table."""
    print(f"  {what:28} {spent} {more}", flush=True)


if __name__ == "__main__":
    main()

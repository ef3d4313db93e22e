"""Compare the overhead of one measured call: this project, timeit and pytest-benchmark.

Run it with `python benchmarks/overhead.py`. It prints ns per call and the ratio to timeit, the best of several
interleaved repetitions of each. It asserts nothing: times depend on the machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_devperf.case.workload import Call
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.host.target import HostTarget

REPETITIONS = 7
"""Enough repetitions that the best of each is undisturbed on a machine with occasional other work."""

TIMING_NS = 400_000
"""Duration of one timing: 8000 steps of the clock, and short enough to fit between two disturbances."""

PEER = """
import pytest
{define}

def test_peer(benchmark):
    benchmark({call})
"""


def empty() -> None:
    """Do nothing, so that only the overhead of the harness is measured."""


WORKLOADS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str, str]] = {
    "empty function": (empty, (), "def empty(): pass", "empty"),
    "len([])": (len, ([],), "", "len, []"),
    "sum(range(50))": (sum, (range(50),), "", "sum, range(50)"),
    "sum(range(1000))": (sum, (range(1000),), "", "sum, range(1000)"),
}
"""Name -> function, arguments, and the same as source of a pytest-benchmark test."""


def loops_of(function: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """Return the number of calls in one timing."""
    return max(1, round(TIMING_NS / (min(timeit.repeat(lambda: function(*args), number=100)) / 100 * 1e9)))


def own_ns(function: Callable[..., Any], args: tuple[Any, ...], loops: int) -> dict[str, float]:
    """Time our own loops: with inner loops, and with a pair of clock readings per call."""
    target = HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))
    with target.start(Call(function=function, args=args), 0) as runner:
        runner.run(3, loops)
        return {
            "devperf, inner loops": min(runner.run(10, loops)),
            "devperf, one call each": min(runner.run(10 * loops, 1)),
        }


def timeit_ns(function: Callable[..., Any], args: tuple[Any, ...], loops: int) -> dict[str, float]:
    """Time with timeit."""
    names = {f"a{index}": value for index, value in enumerate(args)}
    timer = timeit.Timer(f"function({', '.join(names)})", globals={"function": function, **names})
    return {"timeit": min(timer.repeat(10, loops)) / loops * 1e9}


def peer_ns(define: str, call: str) -> dict[str, float]:
    """Time with pytest-benchmark in a fresh interpreter, if it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_peer.py").write_text(PEER.format(define=define, call=call))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:devperf", "-p", "no:cacheprovider", folder]
        out = Path(folder) / "out.json"
        done = subprocess.run([*command, f"--benchmark-json={out}"], check=False, capture_output=True, cwd=folder)
        if done.returncode:
            return {}
        return {"pytest-benchmark": json.loads(out.read_text())["benchmarks"][0]["stats"]["min"] * 1e9}


def main() -> None:
    """Print the table."""
    print(f"{'workload':<18}{'harness':<26}{'ns per call':>12}{'of timeit':>11}")
    for name, (function, args, define, call) in WORKLOADS.items():
        best: dict[str, float] = {}
        loops = loops_of(function, args)
        for repetition in range(REPETITIONS):
            taken = timeit_ns(function, args, loops) | own_ns(function, args, loops)
            if repetition == 0:
                taken |= peer_ns(define, call)
            best |= {harness: min(ns, best.get(harness, ns)) for harness, ns in taken.items()}
        for harness, ns in best.items():
            print(f"{name:<18}{harness:<26}{ns:>12.1f}{ns / best['timeit']:>10.2f}x")


if __name__ == "__main__":
    main()

"""The work of the canary, and the program that counts it; it imports little, since valgrind runs it slowly."""

from __future__ import annotations

import json
import mmap
import sys
from collections.abc import Callable
from pathlib import Path

from pytest_devperf import stats
from pytest_devperf.case.workload import Call
from pytest_devperf.count.counter import Counter
from pytest_devperf.count.pace import Pace
from pytest_devperf.targets.awaited import run_now

BUDGET_S = 600.0
"""CPU time that one of the works may take, far above what it takes anywhere."""

PACE = Pace(loops=1, repetitions=5)

SMALL, MEDIUM, LARGE = 100, 3_000, 100_000
"""Bytes of copies: for each size the C library may choose another loop."""

BLOCKS = tuple((memoryview(mmap.mmap(-1, size)), memoryview(mmap.mmap(-1, size))) for size in (SMALL, MEDIUM, LARGE))
"""Sources and targets of copies. Each begins at a page: how long a copy takes depends on its alignment."""


def _calls() -> None:
    for _ in range(1000):
        _nothing()


def _nothing() -> None:
    pass


def _generator() -> None:
    for _ in (each for each in range(1000)):
        pass


def _floats() -> None:
    value = 1.0
    for _ in range(1000):
        value = value * 1.000001 + 0.5


def _exceptions() -> None:
    for _ in range(300):
        _catch()


def _catch() -> None:
    try:
        raise KeyError  # noqa: TRY301 - what it takes is counted
    except KeyError:
        pass


def _copies() -> None:
    for source, target in BLOCKS:
        for _ in range(10):
            target[:] = source


WORKS: tuple[Callable[[], None], ...] = (_calls, _generator, _floats, _exceptions, _copies)


def main(folder: str) -> None:
    """Count all works, and print their counts as JSON."""
    counter = Counter(Path(folder))
    found = {}
    for work in WORKS:
        work()
        count = run_now(counter.count(Call(function=work), PACE, budget_s=BUDGET_S))
        found[work.__name__.removeprefix("_")] = round(stats.median(count.instructions))
    sys.stdout.write(json.dumps(found) + "\n")

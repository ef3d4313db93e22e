"""Count a case in several memory layouts, each in a fork of its own.

Where things lie in memory moves a count by up to half a percent, and every irrelevant change moves them. So a case is
counted in several layouts, which are the same in every session.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from pytest_devperf.count.counter import Counter
from pytest_devperf.count.forks import ForkDied, run_in_fork
from pytest_devperf.count.pace import LAYOUTS, Pace
from pytest_devperf.count.valgrind import Valgrind
from pytest_devperf.session.launch.under_valgrind import UnderValgrind
from pytest_devperf.session.starts.meters.bench import Bench
from pytest_devperf.session.starts.meters.counting import Counting, CountMeter

RunTest = Callable[[CountMeter], Mapping[str, Any]]
"""Runs a test with a meter, and returns its `start` and its `reports` as plain data."""


class Layouts:
    """Counts the cases of an interpreter that valgrind runs."""

    def __init__(self, valgrind: UnderValgrind, process: int) -> None:
        """Make everything that all forks share.

        Args:
            valgrind: What runs the interpreter.
            process: Index of the process start; another one has other layouts.

        Raises:
            DevperfError: Nothing can be counted in this process.
        """
        self._valgrind = Valgrind(program=valgrind.program, version=valgrind.version)
        self._counter = Counter(Path(valgrind.folder))
        self._seeds = range(LAYOUTS * process, LAYOUTS * (process + 1))
        self._frozen = False

    def count(self, make_bench: Callable[[], Bench], run: RunTest, paces: Mapping[str, Pace]) -> Mapping[str, Any]:
        """Run a test in forks with different layouts, and merge their counts.

        Args:
            make_bench: Begins a process start.
            run: Runs the test.
            paces: How metrics are counted, as far as they are to be compared with something.

        Returns:
            The `start` and the `reports` of the first fork, with the counts of all; those of a fork in which the test
            did not pass, or counted nothing.
        """
        if not self._frozen:
            gc.collect()
            gc.freeze()  # the forks need not look through all that pytest holds
            self._frozen = True
        found: list[Mapping[str, Any]] = []
        for seed in self._seeds:
            known = {**paces, **_paces_of(found[0])} if found else paces
            found.append(self._in_fork(make_bench, run, known, seed))
            if not _is_counted(found[-1]):
                return found[-1]
        return _merged(found)

    def _in_fork(
        self, make_bench: Callable[[], Bench], run: RunTest, paces: Mapping[str, Pace], seed: int
    ) -> Mapping[str, Any]:
        counting = Counting(counter=self._counter, valgrind=self._valgrind, paces=paces, seed=seed)
        try:
            return run_in_fork(lambda: run(CountMeter(make_bench(), counting)), seed)
        except ForkDied as died:
            _die_of(died)


def _die_of(died: ForkDied) -> NoReturn:
    """End as a process does in which a test crashed: the session then reports the case, and goes on with the others."""
    sys.stderr.write(f"the process that counted this case was {died}\n")
    sys.stderr.flush()
    os._exit(1)


def _is_counted(found: Mapping[str, Any]) -> bool:
    passed = all(report["outcome"] == "passed" for report in found["reports"])
    return passed and bool(found["start"]["counts"])


def _paces_of(found: Mapping[str, Any]) -> Mapping[str, Pace]:
    return {
        each["metric"]["name"]: Pace(loops=each["loops"], repetitions=len(each["layouts"][0]))
        for each in found["start"]["counts"]
    }


def _merged(found: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    first, *others = found
    counts = [dict(each) for each in first["start"]["counts"]]
    for each in counts:
        name = each["metric"]["name"]
        alike = (held for other in others for held in other["start"]["counts"] if held["metric"]["name"] == name)
        each["layouts"] = [*each["layouts"], *(row for held in alike for row in held["layouts"])]
    return {**first, "start": {**first["start"], "counts": counts}}

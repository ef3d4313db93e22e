"""Count a whole program, with everything that it starts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from pytest_devperf.count.callgrind import read_totals
from pytest_devperf.count.valgrind import Valgrind, counting_variables
from pytest_devperf.errors import CaseError
from pytest_devperf.targets.process import Invocation


def count_program(start: Callable[[Callable[[Invocation], Invocation]], None], valgrind: Valgrind, seed: int) -> int:
    """Count one start of a program.

    Args:
        start: Starts the program once; what is passed changes how it is started.
        valgrind: Counts it.
        seed: Of the memory layout.

    Raises:
        CaseError: It failed, or valgrind did not count all of its processes to their end.
    """
    with tempfile.TemporaryDirectory(prefix="devperf-") as name:
        folder = Path(name)

        def under_valgrind(invocation: Invocation) -> Invocation:
            return Invocation(
                argv=(*valgrind.counting_whole(folder), *invocation.argv),
                environment={**counting_variables(seed), **invocation.environment},
            )

        start(under_valgrind)
        totals = read_totals(folder)
    known = [each for each in totals if each is not None]
    if not known or len(known) < len(totals):
        raise CaseError(
            f"{valgrind.version} wrote no count of the program, or not of all its processes",
            "a process that is killed, or that valgrind cannot run, has no count",
        )
    return sum(known)

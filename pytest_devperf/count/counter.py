"""Count the instructions of a workload in a process that valgrind runs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_devperf import stats
from pytest_devperf.case.workload import Call
from pytest_devperf.count.callgrind import take_dumps
from pytest_devperf.count.pace import Pace, pace_of
from pytest_devperf.count.requests import ClientRequests
from pytest_devperf.count.work import Work, idle_work
from pytest_devperf.errors import TargetError, Unsupported
from pytest_devperf.targets.host.meter import untraced

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.

WARMUPS = 8
"""Runs before counting begins, at a tenth of its cost: Python 3.11 specialises a function in its eighth call."""

SLOWDOWN = 12.0
"""Times that a counted run takes longer than one that valgrind runs without counting."""

FEWEST_RUNS = 8
"""Counted runs that a case needs at least, over all its memory layouts."""

IDLE_RUNS = 3
"""Counts of what a count costs itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The count of a workload in one memory layout."""

    pace: Pace
    instructions: tuple[float, ...]
    """(repetitions,) of one run of the workload."""


class Counter:
    """Counts workloads of this process."""

    def __init__(self, folder: Path, requests: ClientRequests | None = None) -> None:
        """Prepare the requests.

        Args:
            folder: The folder that valgrind writes its counts to.
            requests: The way to ask valgrind; None: it is made.

        Raises:
            TargetError: No valgrind runs this process.
        """
        self._folder = folder
        self._requests = ClientRequests() if requests is None else requests
        if not self._requests.answered:
            raise TargetError("instructions were to be counted in a process that valgrind does not run")
        self._idle = idle_work(self._requests.toggle).prepare(1)

    async def count(self, call: Call, pace: Pace | None = None, *, budget_s: float) -> Count:
        """Count a call.

        Args:
            call: The call, which was made at least once.
            pace: That of the count that it will be compared with; None: it is chosen.
            budget_s: CPU time in seconds that all counts of the call may take.

        Raises:
            Unsupported: They would take longer.
        """
        work = Work(call, self._requests.toggle)
        with untraced():
            await _refuse_slow(work, budget_s)
            if pace is None:
                (single_ir,) = await self._counted(work, Pace(loops=1, repetitions=1))
                pace = pace_of(single_ir)
            warm = work.prepare(pace.loops)
            for _ in range(WARMUPS if pace.repetitions > 1 else 0):
                await _run(warm)
            return Count(pace=pace, instructions=await self._counted(work, pace))

    async def _counted(self, work: Work, pace: Pace) -> tuple[float, ...]:
        """Count while nothing else of the interpreter runs: a collection would count as the workload's."""
        requests, run = self._requests, work.prepare(pace.loops)
        with _uncollected():
            requests.start()
            try:
                await _run(run)  # valgrind translates it now
                for _ in range(pace.repetitions):
                    requests.zero()
                    await _run(run)
                    requests.dump()
                for _ in range(IDLE_RUNS):
                    requests.zero()
                    self._idle()
                    requests.dump()
            finally:
                requests.stop()
        counts = self._read(pace.repetitions + IDLE_RUNS)
        idle_ir = stats.median(counts[pace.repetitions :]) * work.parts(pace.loops)
        return tuple((each - idle_ir) / pace.loops for each in counts[: pace.repetitions])

    def _read(self, expected: int) -> list[int]:
        counts = [each for each in take_dumps(self._folder) if each is not None]
        if len(counts) != expected:
            raise TargetError(
                f"valgrind wrote {len(counts)} of {expected} counts", f"see whether the disk of {self._folder} is full"
            )
        return counts


async def _refuse_slow(work: Work, budget_s: float) -> None:
    run = work.prepare(1)
    began_s = time.process_time()
    await _run(run)
    needs_s = (time.process_time() - began_s) * SLOWDOWN * FEWEST_RUNS
    if needs_s > budget_s:
        raise Unsupported(
            f"counting its instructions would take about {needs_s:.0f} s, and {budget_s:g} s are allowed",
            f"--devperf-max-time={1.5 * needs_s:.0f} allows it",
        )


async def _run(fill: Callable[[], Any]) -> None:
    given = fill()
    if given is not None:
        await given


@contextmanager
def _uncollected() -> Iterator[None]:
    """Collect garbage now and not again until the block ends."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

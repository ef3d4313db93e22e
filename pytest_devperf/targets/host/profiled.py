"""Profile a Python call that is up: plain passes first, then passes under the profiler."""

from __future__ import annotations

import gc
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pytest_devperf import stats
from pytest_devperf.case.workload import Call
from pytest_devperf.explain.profile import Profile, ProfileClock
from pytest_devperf.explain.python import (
    MOST_STEP_NS,
    PASSES,
    CallProfiler,
    FunctionTable,
    SlotTaken,
    call_cost,
    files_of,
    function_table,
    profile_of,
)
from pytest_devperf.metric import NS_PER_S
from pytest_devperf.targets.awaited import AnyRunner, run_timed
from pytest_devperf.targets.host.meter import tick_ns
from pytest_devperf.targets.protocol import RoundContext

OTHER_THREADS = 1.3
"""CPU time of the whole process above that of the calling thread from which other threads do a part of the work."""

WAITS = 1.3
"""Wall time above CPU time from which a workload waits, and wall time is what its functions are timed by."""

FEWEST_ITERATIONS = 3
"""With one iteration, what the first of a pass costs (caches, imports) would be counted as every one's."""

PASS_NS = NS_PER_S // 2
"""Longest pass under the profiler, if a few iterations fit into it: long against what disturbs it, and short enough
for a dozen cases in a minute."""

TOO_SLOW_NS = 20 * NS_PER_S
"""Longest pass of the fewest iterations: three of them in four process starts take minutes already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """A workload without a profiler."""

    iteration_ns: float
    clock: ProfileClock
    problem: str | None


async def run_plain(runner: AnyRunner, context: Callable[[], RoundContext], iterations: int) -> Plain:
    """Run a workload without a profiler: how long it takes, and what its functions have to be timed by."""
    times, waits, threads = [], [], []
    for _ in range(PASSES):
        began_ns = time.thread_time_ns()
        samples = await run_timed(runner, iterations, 1)
        thread_ns = max(1, time.thread_time_ns() - began_ns)
        seen = context()
        times.append(stats.median(samples))
        waits.append(((seen.wall_ns or 0) - (seen.waited_ns or 0)) / thread_ns)
        threads.append((seen.cpu_ns or 0) / thread_ns)
    fine = tick_ns(time.thread_time_ns) <= MOST_STEP_NS
    return Plain(
        iteration_ns=min(times),
        clock="cpu" if fine and min(waits) < WAITS else "wall",
        problem="other threads do the work" if min(threads) > OTHER_THREADS else None,
    )


async def run_profiled(call: Call, metric: str, iterations: int, plain: Plain) -> Profile:
    """Run a call under the profiler, and return where its time goes.

    Args:
        call: The call.
        metric: The metric that it is measured as.
        iterations: Most iterations of a pass; fewer if they would take too long.
        plain: The call without a profiler.
    """
    tables: list[FunctionTable] = []
    problem = plain.problem
    cost = None
    try:
        cost = call_cost(plain.clock)
        iterations = await _affordable(call, iterations, plain.clock)
        for _ in range(PASSES if iterations else 0):
            tables.append(await _pass(call, iterations, plain.clock))  # noqa: PERF401 - those before an error are kept
    except SlotTaken:
        problem = "another profiler or coverage tool is active"
    return profile_of(
        tables,
        metric=metric,
        iterations=max(1, iterations),
        plain_ns=plain.iteration_ns,
        clock=plain.clock,
        cost=cost,
        problem=problem if iterations else "a profile of it would take too long",
    )


async def _affordable(call: Call, iterations: int, clock: ProfileClock) -> int:
    """Choose the iterations of a pass by how long one takes under the profiler; 0 if even the fewest take too long."""
    began_ns = time.perf_counter_ns()
    await _pass(call, 1, clock)
    took_ns = max(1, time.perf_counter_ns() - began_ns)
    if took_ns * FEWEST_ITERATIONS > TOO_SLOW_NS:
        return 0
    return min(iterations, max(FEWEST_ITERATIONS, PASS_NS // took_ns))


async def _pass(call: Call, iterations: int, clock: ProfileClock) -> FunctionTable:
    profiler = CallProfiler(clock)
    with _uncollected():
        for _ in range(iterations):
            if call.setup is not None:
                await _settled(call.setup())
            profiler.start()
            try:
                await _once(call)
            finally:
                profiler.stop()
    entries = profiler.entries()
    return function_table(entries, files_of(dict(sys.modules), {entry.code.co_filename for entry in entries}))


async def _once(call: Call) -> None:
    """Make the call, and use up what it returns."""
    given: Any = call.function(*call.args, **call.kwargs)
    if call.shape == "stream":
        await _use_up(given)
    else:
        given = await _settled(given) if call.shape == "coroutine" else given
    if call.sync is not None:
        await _settled(call.sync(given))


async def _use_up(stream: Any) -> None:  # noqa: ANN401 - any iterator
    if hasattr(stream, "__aiter__"):
        async for _ in stream:
            pass
    else:
        for _ in stream:
            pass


async def _settled(value: Any) -> Any:  # noqa: ANN401 - whatever a setup or sync returns
    return await value if inspect.isawaitable(value) else value


@contextmanager
def _uncollected() -> Iterator[None]:
    """Suspend the garbage collector, as the rounds do."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()

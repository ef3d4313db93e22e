"""Measure a fixed piece of work twice, as a saved run and as the run compared with it, and see how far they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_devperf.case.plan import Plan
from pytest_devperf.case.workload import Command
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.verdict import judge
from pytest_devperf.measure.loop import RoundHooks, run_start
from pytest_devperf.measure.round import StartPlan, StartResult
from pytest_devperf.metric import LATENCY, Metric
from pytest_devperf.record.measurement import time_measurement
from pytest_devperf.targets.protocol import Clock, Target

FEWEST_STARTS = 3
"""Process starts of each side without which their differences mean nothing."""

MOST_STARTS = 12
"""Process starts of each side after which more change the result little."""

ROUNDS, ITERATIONS = 2, 30
"""Rounds of each start, and iterations of each round, as in a session."""

FINEST = 0.001
"""Tolerance of this comparison: the noise decides, not the tolerance."""

PHONE_COMMAND = Command(
    argv=("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"), read="time", folder="."
)
"""Work for a phone that needs nothing installed there: a loop of its shell, some tens of milliseconds."""

PHONE_ITERATIONS = 5
"""Iterations of each round on a phone, where each one starts a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What two runs of the same work showed."""

    starts: int
    """Process starts of each run."""
    delta_pct: float
    """Difference of the two runs."""
    detectable_pct: float | None
    """The smallest change that a comparison of such runs detects; None: none."""


StartTrial = Callable[[int], StartResult]
"""Measures the work in one process start, given its index."""


def alternate(start: StartTrial, keep_on: Callable[[int], bool]) -> Iterator[StartResult]:
    """Measure process starts one after the other: the saved run's and the new run's in turns.

    Args:
        start: Measures one.
        keep_on: Returns whether there is time for another pair, given the number of pairs so far.
    """
    pairs = 0
    while pairs < FEWEST_STARTS or (pairs < MOST_STARTS and keep_on(pairs)):
        yield start(2 * pairs)
        yield start(2 * pairs + 1)
        pairs += 1


def compare_halves(results: Sequence[StartResult]) -> Trial:
    """Compare the starts of even index with those of odd index, as a saved run with a new one."""
    metric = Metric(name=LATENCY, unit="ms", better="lower", kind="rounds")
    saved, new = (time_measurement(metric, results[first::2], main=True) for first in (0, 1))
    policy = Policy(tolerance={"*": FINEST}, confirm=False)
    anchored = all(each.anchor_ns is not None for result in results for each in result.rounds)
    change = judge(new, [saved], policy, same_anchor=anchored, starts=len(results) // 2).change
    return Trial(starts=len(results) // 2, delta_pct=change.delta_pct or 0.0, detectable_pct=change.detectable_pct)


def start_on(target: Target, workload: Command, index: int, clock: Clock) -> StartResult:
    """Measure the work in one process start of a device that starts its own processes."""
    with target.start(workload, index) as runner:
        return run_start(runner, plan_of_start(index, PHONE_ITERATIONS), Plan(warmup=1), clock, RoundHooks())


def plan_of_start(index: int, iterations: int = ITERATIONS) -> StartPlan:
    """Plan one start."""
    return StartPlan(
        process=index,
        rounds=ROUNDS,
        total_rounds=ROUNDS,
        processes=1,
        iterations=iterations,
        inner_loops=1,
        fixed=True,
    )

"""Measure two running workloads round by round in turns.

Drift, especially heat, affects both alike, so there is no anchor, no early pass and no convergence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_devperf.case.plan import Plan
from pytest_devperf.measure.budget import Cost, fit
from pytest_devperf.measure.loop import NO_HOOKS, Job, RoundHooks, take_kept_round
from pytest_devperf.measure.round import Round, StartPlan, StartResult
from pytest_devperf.measure.warmup import warm_up
from pytest_devperf.metric import NS_PER_S
from pytest_devperf.targets.awaited import run_now
from pytest_devperf.targets.protocol import Clock, Runner, SelfWarming, Ticking

OLD, NEW = "A", "B"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Both running workloads."""

    old: Runner
    new: Runner


def run_turns(
    sides: Sides,
    start_plan: StartPlan,
    plan: Plan,
    clock: Clock,
    *,
    order: str,
    hooks: RoundHooks = NO_HOOKS,
) -> tuple[StartResult, StartResult]:
    """Measure two workloads in one process start.

    Args:
        sides: Both running workloads.
        start_plan: The plan of this start, for each side.
        plan: The case's plan.
        clock: Waits between rounds.
        order: The side of each round: `A` is the old workload, `B` the new one; cut if fewer rounds are planned.
        hooks: Actions around each round; no anchor is timed.

    Returns:
        The results of the old and the new workload, with equally many rounds.

    Raises:
        CaseError: A duration is NaN, infinite, zero or negative.
    """
    runners = {OLD: sides.old, NEW: sides.new}
    start_plan = _warmed_up(runners, start_plan, plan, hooks.rest_s)
    taken: dict[str, list[Round]] = {OLD: [], NEW: []}
    for letter in order:
        if len(taken[letter]) >= start_plan.rounds:
            continue
        index = len(taken[OLD]) + len(taken[NEW])
        iterations = start_plan.iterations_of(len(taken[letter]), start_plan.iterations)
        of_round = replace(start_plan, iterations=iterations)
        taken[letter].append(_round(runners[letter], of_round, index, clock, replace(hooks, use_anchor=False)))
    return _start_result(runners[OLD], start_plan, taken[OLD]), _start_result(runners[NEW], start_plan, taken[NEW])


def _warmed_up(runners: dict[str, Runner], start_plan: StartPlan, plan: Plan, rest_s: float) -> StartPlan:
    """Warm up both workloads, and choose the same inner loops and iterations for both."""
    new = run_now(warm_up(runners[NEW], plan.warmup, start_plan.inner_loops, process=start_plan.process))
    old = run_now(warm_up(runners[OLD], plan.warmup, new.inner_loops, process=start_plan.process))
    iterations = start_plan.iterations
    if start_plan.process == 0 and not start_plan.fixed and new.call_ns is not None and old.call_ns is not None:
        each_ns = (new.call_ns + old.call_ns) * new.inner_loops + new.untimed_ns + old.untimed_ns
        fitted = fit(
            Cost(iteration_s=each_ns / NS_PER_S, round_s=2 * rest_s),
            rounds=start_plan.total_rounds,
            iterations=iterations,
            processes=start_plan.processes,
            max_time_s=plan.max_time,
            fixed=False,
            judged=True,
        )
        iterations = fitted.iterations
    ready = None if start_plan.ready is None else min(start_plan.ready, iterations)
    return replace(start_plan, iterations=iterations, inner_loops=new.inner_loops, ready=ready)


def _round(runner: Runner, start_plan: StartPlan, index: int, clock: Clock, hooks: RoundHooks) -> Round:
    job = Job(
        process=start_plan.process,
        iterations=start_plan.iterations,
        inner_loops=1 if isinstance(runner, SelfWarming) else start_plan.inner_loops or 1,
    )
    return run_now(take_kept_round(runner, job, index, clock, hooks))


def _start_result(runner: Runner, start_plan: StartPlan, rounds: list[Round]) -> StartResult:
    return StartResult(
        rounds=tuple(rounds),
        iterations=start_plan.iterations,
        inner_loops=start_plan.inner_loops or 1,
        total_rounds=start_plan.total_rounds,
        tick_ns=runner.tick_ns if isinstance(runner, Ticking) else None,
        stop="done",
    )

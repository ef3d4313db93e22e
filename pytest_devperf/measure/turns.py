"""Two workloads that are up at the same time, measured round by round in turns.

What drifts, heat above all, touches both alike; so neither anchor nor early pass nor convergence applies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pytest_devperf.case.plan import Plan
from pytest_devperf.measure.budget import NS_PER_S, Cost, fit
from pytest_devperf.measure.burst import run_now
from pytest_devperf.measure.loop import AROUND_NOTHING, Around, Job, take_kept_round
from pytest_devperf.measure.round import Round, Share, Stretch
from pytest_devperf.measure.warmup import settle
from pytest_devperf.target.target import Clock, Runner, SelfWarming, Ticking

OLD, NEW = "A", "B"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Both workloads, up."""

    old: Runner
    new: Runner


def run_turns(
    sides: Sides,
    share: Share,
    plan: Plan,
    clock: Clock,
    *,
    order: str,
    around: Around = AROUND_NOTHING,
) -> tuple[Stretch, Stretch]:
    """Measure two workloads in one process start.

    Args:
        sides: Both, up.
        share: What this start is asked for, of each side.
        plan: The case's plan.
        clock: Waits between rounds.
        order: Whose round each is, `A` the old workload's, `B` the new one's; cut where fewer rounds are asked for.
        around: What happens around each round; no anchor is timed.

    Returns:
        The old stretch and the new one, with equally many rounds.

    Raises:
        CaseError: A duration is NaN, infinite, zero or negative.
    """
    runners = {OLD: sides.old, NEW: sides.new}
    share = _settled(runners, share, plan, around.rest_s)
    taken: dict[str, list[Round]] = {OLD: [], NEW: []}
    began_ns = clock.now_ns()
    for letter in order:
        if len(taken[letter]) >= share.rounds:
            continue
        index = len(taken[OLD]) + len(taken[NEW])
        taken[letter].append(_round(runners[letter], share, index, clock, replace(around, use_anchor=False)))
        if share.process == 0 and len(taken[OLD]) == len(taken[NEW]) == 1:
            share = _within(share, plan, clock.now_ns() - began_ns)
    return _stretch(runners[OLD], share, taken[OLD]), _stretch(runners[NEW], share, taken[NEW])


def _settled(runners: dict[str, Runner], share: Share, plan: Plan, rest_s: float) -> Share:
    """Warm both up, and choose inner loops and iterations for both, by what they take."""
    new = run_now(settle(runners[NEW], plan.warmup, share.inner_loops, process=share.process))
    old = run_now(settle(runners[OLD], plan.warmup, new.inner_loops, process=share.process))
    iterations = share.iterations
    if share.process == 0 and not share.fixed and new.call_ns is not None and old.call_ns is not None:
        each_ns = (new.call_ns + old.call_ns) * new.inner_loops + new.beside_ns + old.beside_ns
        fitted = fit(
            Cost(iteration_s=each_ns / NS_PER_S, round_s=2 * rest_s),
            rounds=share.total_rounds,
            iterations=iterations,
            processes=share.processes,
            max_time_s=plan.max_time,
            fixed=False,
            judged=True,
        )
        iterations = fitted.iterations
    return replace(share, iterations=iterations, inner_loops=new.inner_loops)


def _within(share: Share, plan: Plan, pair_ns: int) -> Share:
    """Plan fewer rounds where the first of each side took too long for all of them; one start's at least."""
    affordable = math.floor(plan.max_time * NS_PER_S / pair_ns) if pair_ns > 0 else share.total_rounds
    return replace(share, total_rounds=min(share.total_rounds, max(share.rounds, affordable)))


def _round(runner: Runner, share: Share, index: int, clock: Clock, around: Around) -> Round:
    job = Job(
        process=share.process,
        iterations=share.iterations,
        inner_loops=1 if isinstance(runner, SelfWarming) else share.inner_loops or 1,
    )
    return run_now(take_kept_round(runner, job, index, clock, around))


def _stretch(runner: Runner, share: Share, rounds: list[Round]) -> Stretch:
    return Stretch(
        rounds=tuple(rounds),
        iterations=share.iterations,
        inner_loops=share.inner_loops or 1,
        total_rounds=share.total_rounds,
        tick_ns=runner.tick_ns if isinstance(runner, Ticking) else None,
        stop="done",
    )

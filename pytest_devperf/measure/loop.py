"""Measure one process start: warm up, fit the budget, and run rounds until there are enough.

No decision here depends on a wall clock: times come from the samples and waits from the given clock, so that a virtual
device is measured in the same way as a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_devperf import stats
from pytest_devperf.case.plan import Plan, fewest_rounds, rounds_of_start
from pytest_devperf.measure.budget import Cost, Fit, fit
from pytest_devperf.measure.round import Earlier, Round, StartPlan, StartResult, Stop
from pytest_devperf.measure.stability import converged
from pytest_devperf.measure.undisturbed import with_round
from pytest_devperf.measure.warmup import WarmupTimes, check_tick, checked, warm_up
from pytest_devperf.metric import NS_PER_S
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.awaited import AnyRunner, run_now, run_timed
from pytest_devperf.targets.protocol import Clock, ContextReporting, RoundContext, Runner, SelfWarming, Ticking

__tracebackhide__ = True
# pytest hides these frames: the traceback of a workload's exception then starts in the test.

ANCHORS = 3
"""Number of anchor timings before and after a round; the median of the six counts."""

MAX_REDOS = 2
"""Number of times that a round is repeated: a device that throttles three times in a row will not stop by itself."""

WHOLE_FROM_NS = 10_000
"""Samples from this duration on are stored as integers: half a nanosecond is then less than 0.005 %."""

DECIMALS = 4
"""Decimals of a sample in ns if it was divided by inner loops; further ones are only noise of the division."""

Redo = Callable[[Round], bool]
"""Returns whether a round is unusable and must be repeated; waits for the device if necessary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The parameters of every round of a start."""

    process: int
    iterations: int
    inner_loops: int


def enough(so_far: Earlier, bound_ns: float | None, plan: Plan | None) -> Stop | None:
    """Return why the rounds so far are enough, or None.

    Args:
        so_far: Every round so far, those of earlier starts first.
        bound_ns: The lowest centre can only fall: once it is at or below this bound, no later round can turn the
            pass into a fail. None: no bound.
        plan: The plan with the stability target if convergence may end the metric, else None.
    """
    lowest_ns, rounds = so_far.lowest_ns, len(so_far.medians_ns)
    if (
        bound_ns is not None
        and lowest_ns is not None
        and lowest_ns <= bound_ns
        and rounds >= fewest_rounds(so_far.width)
    ):
        return "early-pass"
    if plan is not None and converged(so_far.medians_ns, plan):
        return "converged"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundHooks:
    """Actions around each round."""

    rest_s: float = 0.0
    """Wait between rounds in seconds."""
    use_anchor: bool = True
    """Whether to time the anchor kernel before and after each round."""
    look: Callable[[], Context] | None = None
    """Reads the sensors after each round, unless its runner knows them."""
    on_round: Callable[[Round], None] | None = None
    """Called with each round that is kept."""
    redo: Redo | None = None
    """Returns whether to repeat a round; called at most `MAX_REDOS` times for each."""


NO_HOOKS = RoundHooks()
"""Rounds without anything between them except their anchors."""


def run_start(
    runner: Runner, start_plan: StartPlan, plan: Plan, clock: Clock, hooks: RoundHooks = NO_HOOKS
) -> StartResult:
    """Run `measure_start` for a runner that does not suspend."""
    return run_now(measure_start(runner, start_plan, plan, clock, hooks))


async def measure_start(
    runner: AnyRunner, start_plan: StartPlan, plan: Plan, clock: Clock, hooks: RoundHooks
) -> StartResult:
    """Measure one metric in one process start.

    Args:
        runner: The running workload.
        start_plan: The plan of this start.
        plan: The case's plan.
        clock: Waits between rounds.
        hooks: Actions around each round.

    Raises:
        CaseError: A duration is NaN, infinite, zero or negative.
    """
    so_far = start_plan.earlier
    early = enough(so_far, start_plan.bound_ns, plan if start_plan.converge else None)
    if early is not None or start_plan.rounds <= 0:
        return _start_result(runner, start_plan, (), stop=early or "done", inner_loops=start_plan.inner_loops or 1)
    warmth = await warm_up(runner, plan.warmup, start_plan.inner_loops, process=start_plan.process)
    fitted = _fit(runner, start_plan, plan, warmth, hooks.rest_s)
    if fitted.needs_s is not None:
        return _start_result(
            runner,
            start_plan,
            (),
            stop="too-slow",
            inner_loops=warmth.inner_loops,
            fitted=fitted,
            needs_s=fitted.needs_s,
        )
    job = Job(process=start_plan.process, iterations=fitted.iterations, inner_loops=warmth.inner_loops)
    rounds: list[Round] = []
    stop: Stop | None = None
    while stop is None and len(rounds) < _own_rounds(start_plan, fitted.rounds):
        of_round = replace(job, iterations=start_plan.iterations_of(len(rounds), job.iterations))
        rounds.append(await take_kept_round(runner, of_round, len(rounds), clock, hooks))
        if len(rounds) == 1 and isinstance(runner, SelfWarming):
            fitted = _refit(start_plan, plan, rounds[0], hooks.rest_s)
        so_far = with_round(so_far, rounds[-1], job.inner_loops)
        stop = enough(so_far, start_plan.bound_ns, plan if start_plan.converge else None)
    return _start_result(
        runner, start_plan, tuple(rounds), stop=stop or "done", inner_loops=job.inner_loops, fitted=fitted
    )


async def take_kept_round(runner: AnyRunner, job: Job, index: int, clock: Clock, hooks: RoundHooks) -> Round:
    """Rest, run a round until it is usable, and report it.

    Raises:
        CaseError: A duration is NaN, infinite, zero or negative.
    """
    if index and hooks.rest_s > 0:
        clock.sleep(hooks.rest_s)
    taken = await take_round(runner, job, index, use_anchor=hooks.use_anchor)
    for _ in range(MAX_REDOS):
        if hooks.redo is None or not hooks.redo(taken):
            break
        taken = await take_round(runner, job, index, use_anchor=hooks.use_anchor)
    if hooks.look is not None:
        taken = _seen(taken, hooks.look())
    if hooks.on_round is not None:
        hooks.on_round(taken)
    return taken


def _seen(taken: Round, seen: Context) -> Round:
    """Add the sensors' readings right after a round; readings from its runner take precedence."""
    return replace(
        taken,
        temp_c=taken.temp_c if taken.temp_c is not None else seen.temp_c,
        clock_khz=taken.clock_khz or max(seen.max_khz.values(), default=None),
    )


async def take_round(runner: AnyRunner, job: Job, index: int, *, use_anchor: bool) -> Round:
    """Run one round: three anchors, the iterations, one unrecorded anchor, three more.

    The anchor right after the iterations is 2 to 19 % slower (caches and clock are in the workload's state), so it does
    not count.
    """
    anchors_ns = _anchors(runner) if use_anchor else []
    where = f"round {index + 1} of process start {job.process + 1}"
    samples_ns = checked(await run_timed(runner, job.iterations, job.inner_loops), where=where)
    check_tick(runner, samples_ns, job.inner_loops, where=where)
    seen = runner.round_context() if isinstance(runner, ContextReporting) else RoundContext()
    if anchors_ns:
        runner.anchor()
        after_ns = _anchors(runner)
        anchors_ns = anchors_ns + after_ns if after_ns else []
    return Round.within(
        seen,
        process=job.process,
        samples_ns=tidy(samples_ns, job.inner_loops),
        anchor_ns=stats.median(anchors_ns) if anchors_ns else None,
    )


def tidy(samples_ns: Sequence[float], inner_loops: int) -> tuple[float, ...]:
    """Round samples to the precision of a clock, so that records stay small.

    With one call per iteration, samples are integers (except averages of a tool below ten microseconds); with inner
    loops, four decimals are kept.
    """
    if inner_loops != 1:
        return tuple(round(value, DECIMALS) or value for value in samples_ns)
    return tuple(int(value) if value == int(value) else _shortened(value) for value in samples_ns)


def _shortened(value_ns: float) -> float:
    return round(value_ns) if value_ns >= WHOLE_FROM_NS else round(value_ns, DECIMALS) or value_ns


def _anchors(runner: AnyRunner) -> list[float]:
    """Time the anchor; empty if the runner has none."""
    times_ns: list[float] = []
    for _ in range(ANCHORS):
        taken_ns = runner.anchor()
        if not taken_ns or taken_ns < 0:
            return []
        times_ns.append(taken_ns)
    return times_ns


def _decides(start_plan: StartPlan) -> bool:
    """Return whether this start determines iterations and rounds of the later ones as well."""
    return start_plan.process == 0 and not start_plan.earlier.medians_ns


def _own_rounds(start_plan: StartPlan, total: int) -> int:
    """Return this start's part of the rounds that fit."""
    if total >= start_plan.total_rounds:
        return start_plan.rounds
    return min(start_plan.rounds, rounds_of_start(total, start_plan.processes, start_plan.process))


def _fit(runner: AnyRunner, start_plan: StartPlan, plan: Plan, warmth: WarmupTimes, rest_s: float) -> Fit:
    """Fit the case into its budget, from the times of the warmup."""
    if warmth.call_ns is None or not _decides(start_plan):
        return Fit(rounds=start_plan.total_rounds, iterations=start_plan.iterations)
    cost = Cost(
        iteration_s=(warmth.call_ns * warmth.inner_loops + warmth.untimed_ns) / NS_PER_S,
        round_s=rest_s,
        start_s=((runner.load_ns or 0) + plan.warmup * (warmth.call_ns + warmth.untimed_ns)) / NS_PER_S,
    )
    return _within(cost, start_plan, plan, fewest_rounds(start_plan.iterations))


def _refit(start_plan: StartPlan, plan: Plan, first: Round, rest_s: float) -> Fit:
    """Fit the rounds of a workload that warms itself up, from the time of its first round; iterations are unchanged."""
    if not _decides(start_plan):
        return Fit(rounds=start_plan.total_rounds, iterations=start_plan.iterations)
    took_ns = max(sum(first.samples_ns), first.wall_ns or 0)
    fewest = fewest_rounds(len(first.samples_ns))
    fitted = _within(Cost(iteration_s=0.0, round_s=took_ns / NS_PER_S + rest_s), start_plan, plan, fewest)
    # The first round has been run already: a tool that is too slow gets its fewest rounds.
    return Fit(rounds=fitted.rounds or min(fewest, start_plan.total_rounds), iterations=start_plan.iterations)


def _within(cost: Cost, start_plan: StartPlan, plan: Plan, fewest: int) -> Fit:
    return fit(
        cost,
        rounds=start_plan.total_rounds,
        iterations=start_plan.iterations,
        processes=start_plan.processes,
        max_time_s=plan.max_time,
        fixed=start_plan.fixed,
        judged=start_plan.bound_ns is not None,
        fewest=fewest,
    )


def _start_result(
    runner: AnyRunner,
    start_plan: StartPlan,
    rounds: tuple[Round, ...],
    *,
    stop: Stop,
    inner_loops: int,
    fitted: Fit | None = None,
    needs_s: float | None = None,
) -> StartResult:
    planned = fitted or Fit(rounds=start_plan.total_rounds, iterations=start_plan.iterations)
    return StartResult(
        rounds=rounds,
        iterations=planned.iterations,
        inner_loops=inner_loops,
        total_rounds=planned.rounds or start_plan.total_rounds,
        tick_ns=runner.tick_ns if isinstance(runner, Ticking) else None,
        stop=stop,
        needs_s=needs_s,
    )

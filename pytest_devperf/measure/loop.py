"""Measuring one process start: warm up, fit the budget, take rounds until there are enough.

Nothing here reads a wall clock to decide: times come from the samples, waits from the clock handed in,
so that a device made of arithmetic is measured the same way as a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_devperf import stats
from pytest_devperf.case.plan import MIN_ROUNDS, Plan, rounds_of_start
from pytest_devperf.measure.budget import NS_PER_S, Cost, Fit, fit
from pytest_devperf.measure.round import Round, Share, Stop, Stretch
from pytest_devperf.measure.stability import converged
from pytest_devperf.measure.warmup import Warmth, check_tick, checked, settle
from pytest_devperf.target.target import Clock, Runner, SelfWarming, Ticking, Witness, Witnessing

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.

ANCHORS = 3
"""Times the anchor kernel is timed on either side of a round; the median of the six stands."""

MAX_REDOS = 2
"""Times a round is taken again: a device that throttles three times in a row will not stop by itself."""

WHOLE_FROM_NS = 10_000
"""Samples from here on are kept as integers: half a nanosecond is then below 0.005 %."""

DECIMALS = 4
"""Decimals of a sample in ns with inner loops divided out; beyond them is only the division's noise."""

Redo = Callable[[Round], bool]
"""Says whether a round is worthless and taken again; waits for the device itself where it must."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a start measures once its budget is fitted."""

    process: int
    rounds: int
    """Rounds of this start at most."""
    iterations: int
    inner_loops: int
    earlier_ns: tuple[float, ...]
    """Medians of the rounds of earlier starts."""
    bound_ns: float | None
    converge: bool


def enough(medians_ns: Sequence[float], bound_ns: float | None, plan: Plan | None) -> Stop | None:
    """Tell why the rounds so far are enough, or None.

    Args:
        medians_ns: Of every round so far, those of earlier starts first.
        bound_ns: The minimum only falls: once it is at or below this bound, no later round can turn the
            pass into a fail. None: never.
        plan: Its stability target, where convergence may end the metric; else None.
    """
    if bound_ns is not None and len(medians_ns) >= MIN_ROUNDS and min(medians_ns) <= bound_ns:
        return "early-pass"
    if plan is not None and converged(medians_ns, plan):
        return "converged"
    return None


def run_start(  # noqa: PLR0913 - what it measures, then four switches that are named
    runner: Runner,
    share: Share,
    plan: Plan,
    clock: Clock,
    *,
    rest_s: float = 0.0,
    use_anchor: bool = True,
    on_round: Callable[[Round], None] | None = None,
    redo: Redo | None = None,
) -> Stretch:
    """Measure one metric in one process start.

    Args:
        runner: The workload, up.
        share: What this start is asked for.
        plan: The case's plan.
        clock: Waits between rounds.
        rest_s: Wait between rounds in seconds.
        use_anchor: Whether the anchor kernel is timed around each round.
        on_round: Told of each round as it is kept.
        redo: Whether a round is taken again, asked at most `MAX_REDOS` times for each.

    Raises:
        CaseError: A duration is NaN, infinite, zero or negative.
    """
    early = enough(share.earlier_ns, share.bound_ns, plan if share.converge else None)
    if early is not None or share.rounds <= 0:
        return _stretch(runner, share, (), stop=early or "done", inner_loops=share.inner_loops or 1)
    warmth = settle(runner, plan.warmup, share.inner_loops, process=share.process)
    fitted = _fit(runner, share, plan, warmth, rest_s)
    if fitted.needs_s is not None:
        return _stretch(
            runner, share, (), stop="too-slow", inner_loops=warmth.inner_loops, fitted=fitted, needs_s=fitted.needs_s
        )
    job = Job(
        process=share.process,
        rounds=_own_rounds(share, fitted.rounds),
        iterations=fitted.iterations,
        inner_loops=warmth.inner_loops,
        earlier_ns=share.earlier_ns,
        bound_ns=share.bound_ns,
        converge=share.converge,
    )
    rounds: list[Round] = []
    for taken in measure(runner, job, plan, clock, rest_s=rest_s, use_anchor=use_anchor, redo=redo):
        rounds.append(taken)
        if on_round is not None:
            on_round(taken)
        if len(rounds) == 1 and isinstance(runner, SelfWarming):
            fitted = _refit(share, plan, taken, rest_s)
        if len(rounds) >= _own_rounds(share, fitted.rounds):
            break
    medians_ns = [*share.earlier_ns, *(stats.median(taken.samples_ns) for taken in rounds)]
    stop = enough(medians_ns, share.bound_ns, plan if share.converge else None) or "done"
    return _stretch(runner, share, tuple(rounds), stop=stop, inner_loops=job.inner_loops, fitted=fitted)


def measure(
    runner: Runner,
    job: Job,
    plan: Plan,
    clock: Clock,
    *,
    rest_s: float = 0.0,
    use_anchor: bool = True,
    redo: Redo | None = None,
) -> Iterator[Round]:
    """Take rounds until they are enough or the start's share is done.

    Args:
        runner: The workload, up and warm.
        job: What is measured.
        plan: Its stability target and patience, where the job may converge.
        clock: Waits between rounds.
        rest_s: Wait between rounds in seconds.
        use_anchor: Whether the anchor kernel is timed around each round.
        redo: Whether a round is taken again.

    Yields:
        Each round that is kept.

    Raises:
        CaseError: A duration is NaN, infinite, zero or negative.
    """
    medians_ns = list(job.earlier_ns)
    for index in range(job.rounds):
        if index and rest_s > 0:
            clock.sleep(rest_s)
        taken = take_round(runner, job, index, use_anchor=use_anchor)
        for _ in range(MAX_REDOS if redo is not None else 0):
            if redo is None or not redo(taken):
                break
            taken = take_round(runner, job, index, use_anchor=use_anchor)
        medians_ns.append(stats.median(taken.samples_ns))
        yield taken
        if enough(medians_ns, job.bound_ns, plan if job.converge else None) is not None:
            return


def take_round(runner: Runner, job: Job, index: int, *, use_anchor: bool) -> Round:
    """Take one round: anchor three times, the burst, one unrecorded anchor, three more.

    The anchor right after a burst is 2 to 19 % slow (caches and clock are the workload's), so the first is
    not counted.
    """
    anchors_ns = _anchors(runner) if use_anchor else []
    where = f"round {index + 1} of process start {job.process + 1}"
    samples_ns = checked(runner.run(job.iterations, job.inner_loops), where=where)
    check_tick(runner, samples_ns, job.inner_loops, where=where)
    seen = runner.witness() if isinstance(runner, Witnessing) else Witness()
    if anchors_ns:
        runner.anchor()
        after_ns = _anchors(runner)
        anchors_ns = anchors_ns + after_ns if after_ns else []
    return Round(
        process=job.process,
        samples_ns=tidy(samples_ns, job.inner_loops),
        cpu_ns=seen.cpu_ns,
        anchor_ns=stats.median(anchors_ns) if anchors_ns else None,
        wall_ns=seen.wall_ns,
        waited_ns=seen.waited_ns,
        slept=seen.slept,
        throttled=seen.throttled,
        temp_c=seen.temp_c,
        cpu_pct=seen.cpu_pct,
        used_ram_mb=seen.used_ram_mb,
        also=seen.also,
        values=seen.values,
    )


def tidy(samples_ns: Sequence[float], inner_loops: int) -> tuple[float, ...]:
    """Keep no more digits than a clock has, so that records stay short.

    One call per iteration gives integers (but for averages of a tool, below ten microseconds); with inner
    loops four decimals stay.
    """
    if inner_loops != 1:
        return tuple(round(value, DECIMALS) or value for value in samples_ns)
    return tuple(int(value) if value == int(value) else _shortened(value) for value in samples_ns)


def _shortened(value_ns: float) -> float:
    return round(value_ns) if value_ns >= WHOLE_FROM_NS else round(value_ns, DECIMALS) or value_ns


def _anchors(runner: Runner) -> list[float]:
    """Time the anchor; nothing where the runner has none."""
    times_ns: list[float] = []
    for _ in range(ANCHORS):
        taken_ns = runner.anchor()
        if not taken_ns or taken_ns < 0:
            return []
        times_ns.append(taken_ns)
    return times_ns


def _decides(share: Share) -> bool:
    """Tell whether this start decides on iterations and rounds for the later ones, too."""
    return share.process == 0 and not share.earlier_ns


def _own_rounds(share: Share, total: int) -> int:
    """Give this start's part of the rounds that fit."""
    if total >= share.total_rounds:
        return share.rounds
    return min(share.rounds, rounds_of_start(total, share.processes, share.process))


def _fit(runner: Runner, share: Share, plan: Plan, warmth: Warmth, rest_s: float) -> Fit:
    """Fit the case into its budget, by what the warm-up took."""
    if warmth.call_ns is None or not _decides(share):
        return Fit(rounds=share.total_rounds, iterations=share.iterations)
    cost = Cost(
        iteration_s=(warmth.call_ns * warmth.inner_loops + warmth.beside_ns) / NS_PER_S,
        round_s=rest_s,
        start_s=((runner.load_ns or 0) + plan.warmup * (warmth.call_ns + warmth.beside_ns)) / NS_PER_S,
    )
    return _within(cost, share, plan)


def _refit(share: Share, plan: Plan, first: Round, rest_s: float) -> Fit:
    """Fit the rounds of a workload that warms itself, by what its first round took; iterations stay."""
    if not _decides(share):
        return Fit(rounds=share.total_rounds, iterations=share.iterations)
    took_ns = max(sum(first.samples_ns), first.wall_ns or 0)
    fitted = _within(Cost(iteration_s=0.0, round_s=took_ns / NS_PER_S + rest_s), share, plan)
    # The first round is taken, so there is no going back: a tool that is too slow gets its fewest rounds.
    return Fit(rounds=fitted.rounds or min(MIN_ROUNDS, share.total_rounds), iterations=share.iterations)


def _within(cost: Cost, share: Share, plan: Plan) -> Fit:
    return fit(
        cost,
        rounds=share.total_rounds,
        iterations=share.iterations,
        processes=share.processes,
        max_time_s=plan.max_time,
        fixed=share.fixed,
        judged=share.bound_ns is not None,
    )


def _stretch(
    runner: Runner,
    share: Share,
    rounds: tuple[Round, ...],
    *,
    stop: Stop,
    inner_loops: int,
    fitted: Fit | None = None,
    needs_s: float | None = None,
) -> Stretch:
    planned = fitted or Fit(rounds=share.total_rounds, iterations=share.iterations)
    return Stretch(
        rounds=rounds,
        iterations=planned.iterations,
        inner_loops=inner_loops,
        total_rounds=planned.rounds or share.total_rounds,
        tick_ns=runner.tick_ns if isinstance(runner, Ticking) else None,
        stop=stop,
        needs_s=needs_s,
    )

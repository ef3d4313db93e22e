"""Old and new code in turns on a virtual device, as `--devperf-against` does it with two interpreters.

Start 1 of the new code calibrates. Pairs of process starts follow: both sides are loaded on one machine, each with a
separate layout, and run their rounds in turns while the machine's state changes for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.verdicts.machine import VirtualClock, VirtualTarget
from benchmarks.verdicts.session import AWAY_S, Bench, Outcome, Pending, iterations_of, record_of, target_of
from pytest_devperf.case.workload import Command
from pytest_devperf.compare.compare import worst
from pytest_devperf.compare.in_turns.case import InTurnsSoFar, judge_in_turns
from pytest_devperf.compare.in_turns.metric import USUAL_PAIRS, looks_of
from pytest_devperf.compare.in_turns.pairs import READY, ROUNDS, ready_iterations, turns_and_ready
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.stopping.decision import MoreStarts, next_in_turns
from pytest_devperf.measure.loop import run_start
from pytest_devperf.measure.round import StartPlan, StartResult
from pytest_devperf.measure.turns import Sides, run_turns
from pytest_devperf.metric import BYTES_PER_MIB
from pytest_devperf.record.record import Comparison

SOLO_STARTS = 3
"""Starts of each side that measure load and memory, as in the plugin."""


@dataclass(slots=True, kw_only=True)
class Two:
    """A case with both of its sides."""

    old: Pending
    new: Pending
    first: StartResult | None = None
    """The results of start 1: iterations, inner loops, and the number of rounds in the budget."""
    spare: int = 0
    """Unrecorded iterations."""
    so_far: InTurnsSoFar | None = None
    """The results of its pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The machine of both sides, with two versions of the code."""

    on: Bench
    old: VirtualTarget
    new: VirtualTarget


def measure_pairs(on: Bench, slower: Mapping[str, float]) -> tuple[Places, list[Two]]:
    """Measure a whole suite in turns, each case until it is decided.

    Args:
        on: Machine and suite; its state moves on.
        slower: The truth by case id: how much slower the new code is, as a fraction.
    """
    on.machine.wake(AWAY_S)
    at = Places(on=on, old=target_of(on, {}), new=target_of(on, slower))
    both = [Two(old=Pending(case=case), new=Pending(case=case)) for case in on.cases]
    policy = Policy(metrics=len(both))
    for two in both:
        _calibrate(at, two)
    while wanting := [(two, asked) for two in both if (asked := next_in_turns(two.so_far)) is not None]:
        _take(at, wanting)
        for two, _ in wanting:
            two.so_far = _judged(at, two, policy)
    for two in both:
        if two.new.case.load_ns is not None:
            for solo in range(SOLO_STARTS):
                _solo(at, two, old_first=solo % 2 == 0)
    return at, both


def _take(at: Places, wanting: Sequence[tuple[Two, MoreStarts]]) -> None:
    """Take the requested pairs, alternating the cases."""
    for nth in range(max(len(asked.rounds) for _, asked in wanting)):
        for two, asked in wanting:
            if nth < len(asked.rounds):
                _pair(at, two, asked.rounds[nth])


def paired_session(on: Bench, slower: Mapping[str, float]) -> list[Outcome]:
    """Measure a whole suite in turns, and judge.

    Args:
        on: Machine and suite; its state moves on.
        slower: The truth by case id: how much slower the new code is, as a fraction.
    """
    at, both = measure_pairs(on, slower)
    return [
        Outcome(
            case_id=two.new.case.id,
            slower=slower.get(two.new.case.id, 0.0),
            comparison=_compared(at, two),
            iterations=two.spare + iterations_of(two.old) + iterations_of(two.new),
            starts=2 * len(two.old.start_results),
            confirmed=False,
        )
        for two in both
    ]


def _sides(at: Places, two: Two) -> tuple[tuple[Pending, VirtualTarget], tuple[Pending, VirtualTarget]]:
    return (two.old, at.old), (two.new, at.new)


def _calibrate(at: Places, two: Two) -> None:
    """Let the new code's start 1 choose iterations and inner loops."""
    rounds = USUAL_PAIRS * 2 * (ROUNDS + READY)
    plan = StartPlan(
        process=0, rounds=1, total_rounds=rounds, processes=2 * USUAL_PAIRS, iterations=at.on.plan.iterations
    )
    with at.new.start(Command(argv=(two.new.case.id,)), 0) as runner:
        two.first = run_start(runner, plan, at.on.plan, VirtualClock(at.on.machine))
    two.spare += sum(len(taken.samples_ns) for taken in two.first.rounds)


def _pair(at: Places, two: Two, rounds: int) -> None:
    """Start both sides and run them in turns; the first round of each only prepares it."""
    assert two.first is not None
    pair = len(two.old.start_results)
    workload = Command(argv=(two.new.case.id,))
    start_plan = StartPlan(
        process=pair + 1,
        rounds=rounds + READY,
        total_rounds=two.first.total_rounds,
        processes=max(looks_of(1)),
        iterations=two.first.iterations,
        inner_loops=two.first.inner_loops,
        fixed=True,
        ready=ready_iterations(two.first.iterations),
    )
    with at.old.start(workload, pair + 1) as old, at.new.start(workload, pair + 1) as new:
        sides = Sides(old=old, new=new)
        clock, order = VirtualClock(at.on.machine), turns_and_ready(pair, rounds)
        taken = run_turns(sides, start_plan, at.on.plan, clock, order=order)
    for side, result in zip((two.old, two.new), taken, strict=True):
        two.spare += sum(len(round_.samples_ns) for round_ in result.rounds[:READY])
        side.start_results.append(replace(result, rounds=result.rounds[READY:]))


def _solo(at: Places, two: Two, *, old_first: bool) -> None:
    """Measure load and memory of both sides, each in a separate process."""
    sides = [(at.old, two.old), (at.new, two.new)]
    for target, side in sides if old_first else reversed(sides):
        with target.start(Command(argv=(side.case.id,)), 0) as runner:
            side.loads_ns.append((float(runner.load_ns or 0),))
            memory = runner.memory(at.on.plan.warmup)
            side.peaks_mib.append(((memory.peak - memory.baseline) / BYTES_PER_MIB,))


def _compared(at: Places, two: Two) -> Comparison:
    """Judge every metric: rounds by their pairs, values of process starts as usual, without a second look."""
    changes = _judged(at, two, Policy(metrics=len(at.on.cases))).changes
    return Comparison(verdict=worst([change.verdict for change in changes]), changes=changes)


def _judged(at: Places, two: Two, policy: Policy) -> InTurnsSoFar:
    pairs = len(two.old.start_results)
    old, new = (record_of(side, target, at.on.plan, pairs) for side, target in _sides(at, two))
    return judge_in_turns(new.metrics, old.metrics, policy)

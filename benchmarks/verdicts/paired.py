"""Old and new code in turns on a virtual device, as `--devperf-against` does it with two interpreters.

Start 1 of the new code calibrates. Then come pairs of process starts: both sides are up on one machine, each
with a layout of its own, and take their rounds in turns while the machine's state moves on under both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from benchmarks.verdicts.machine import VirtualClock, VirtualTarget
from benchmarks.verdicts.session import AWAY_S, Bench, Outcome, Pending, iterations_of, record_of, target_of
from pytest_devperf.case.workload import Command
from pytest_devperf.compare.compare import worst
from pytest_devperf.compare.paired import PAIRS, ROUNDS_EACH, judge_paired, turns
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.verdict import judge
from pytest_devperf.measure.loop import run_start
from pytest_devperf.measure.round import StartPlan, StartResult
from pytest_devperf.measure.turns import Sides, run_turns
from pytest_devperf.metric import BYTES_PER_MIB
from pytest_devperf.record.record import Comparison

READY = 1
"""Rounds of each side in a pair that are not kept, as in the plugin."""

SOLO_STARTS = 3
"""Starts of each side that take load and memory, as in the plugin."""


@dataclass(slots=True, kw_only=True)
class Two:
    """A case with both of its sides."""

    old: Pending
    new: Pending
    first: StartResult | None = None
    """What start 1 learnt: iterations, inner loops, and how many rounds there is time for."""
    spare: int = 0
    """Iterations that were run and not kept."""
    pairs: int = PAIRS


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where both sides run: one machine, two versions of the code."""

    on: Bench
    old: VirtualTarget
    new: VirtualTarget


def measure_pairs(on: Bench, slower: Mapping[str, float], pairs: int = PAIRS) -> tuple[Places, list[Two]]:
    """Measure a whole suite in turns.

    Args:
        on: Machine and suite; its state moves on.
        slower: The truth by case id: how much slower the new code is, as a fraction.
        pairs: Pairs of process starts.
    """
    on.machine.wake(AWAY_S)
    at = Places(on=on, old=target_of(on, {}), new=target_of(on, slower))
    both = [Two(old=Pending(case=case), new=Pending(case=case), pairs=pairs) for case in on.cases]
    for two in both:
        _calibrate(at, two)
    for pair in range(pairs):
        for two in both:
            if pair < two.pairs:
                _pair(at, two, pair)
    for two in both:
        if two.new.case.load_ns is not None:
            for solo in range(SOLO_STARTS):
                _solo(at, two, old_first=solo % 2 == 0)
    return at, both


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
            starts=2 * two.pairs,
            confirmed=False,
        )
        for two in both
    ]


def _calibrate(at: Places, two: Two) -> None:
    """Let the new code's start 1 choose iterations and inner loops, and fit the pairs into the budget."""
    rounds = two.pairs * 2 * (ROUNDS_EACH + READY)
    start_plan = StartPlan(
        process=0, rounds=1, total_rounds=rounds, processes=2 * two.pairs, iterations=at.on.plan.iterations
    )
    with at.new.start(Command(argv=(two.new.case.id,)), 0) as runner:
        two.first = run_start(runner, start_plan, at.on.plan, VirtualClock(at.on.machine))
    two.spare += sum(len(taken.samples_ns) for taken in two.first.rounds)
    two.pairs = min(two.pairs, max(1, two.first.total_rounds // (2 * (ROUNDS_EACH + READY))))


def _pair(at: Places, two: Two, pair: int) -> None:
    """Start both sides and let them take turns; the first round of each gets it ready."""
    assert two.first is not None
    order = turns(pair)
    workload = Command(argv=(two.new.case.id,))
    start_plan = StartPlan(
        process=pair + 1,
        rounds=ROUNDS_EACH + READY,
        total_rounds=two.first.total_rounds,
        processes=two.pairs,
        iterations=two.first.iterations,
        inner_loops=two.first.inner_loops,
        fixed=True,
    )
    with at.old.start(workload, pair + 1) as old, at.new.start(workload, pair + 1) as new:
        sides = Sides(old=old, new=new)
        ready = "".join(dict.fromkeys(order))
        taken = run_turns(sides, start_plan, at.on.plan, VirtualClock(at.on.machine), order=ready * READY + order)
    for side, start_result in zip((two.old, two.new), taken, strict=True):
        two.spare += sum(len(round_.samples_ns) for round_ in start_result.rounds[:READY])
        kept = start_result.rounds[READY:]
        side.start_results.append(replace(start_result, rounds=kept, total_rounds=two.pairs * ROUNDS_EACH))


def _solo(at: Places, two: Two, *, old_first: bool) -> None:
    """Take load and memory of both sides, each in a process of its own."""
    sides = [(at.old, two.old), (at.new, two.new)]
    for target, side in sides if old_first else reversed(sides):
        with target.start(Command(argv=(side.case.id,)), 0) as runner:
            side.loads_ns.append((float(runner.load_ns or 0),))
            memory = runner.memory(at.on.plan.warmup)
            side.peaks_mib.append(((memory.peak - memory.baseline) / BYTES_PER_MIB,))


def _compared(at: Places, two: Two) -> Comparison:
    """Judge every metric: rounds by their pairs, values of process starts as ever, without a second look."""
    old, new = record_of(two.old, at.old, at.on.plan, two.pairs), record_of(two.new, at.new, at.on.plan, two.pairs)
    policy = Policy(confirm=False, anchor=False)
    changes = tuple(
        judge_paired(before, now, policy)
        if now.kind == "rounds"
        else judge(now, [before], policy, same_anchor=False).change
        for before, now in zip(old.metrics, new.metrics, strict=True)
    )
    return Comparison(verdict=worst([change.verdict for change in changes]), changes=changes)

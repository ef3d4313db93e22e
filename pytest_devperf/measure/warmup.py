"""Warming a workload up, and finding out how many calls make one iteration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_devperf.errors import CaseError
from pytest_devperf.metric import LONGEST_NS, SHORTEST_NS
from pytest_devperf.target.target import Looping, Runner, SelfWarming, Ticking, Witnessing
from pytest_devperf.untrusted import shown

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.

TICKS_PER_ITERATION = 1000
"""Steps of the clock in one iteration: the step is then a thousandth of what is measured."""

INNER_LOOPS_STEP = 10
"""Inner loops are powers of ten: two runs of the same code then nearly always agree on them."""

MAX_INNER_LOOPS = 10**7
"""More calls than any clock needs: an empty function of 20 ns under a step of 0.2 ms."""

_PROBES = 3
"""Iterations of a probe; the fastest counts, so that one disturbance does not decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmth:
    """What the unrecorded iterations told."""

    call_ns: float | None
    """Time of one call once warm; None where nothing was run (a tool that warms itself)."""
    beside_ns: float
    """Untimed part of one iteration (a setup), where the runner can tell."""
    inner_loops: int


def checked(samples_ns: Sequence[float], *, where: str, zero: bool = False) -> Sequence[float]:
    """Refuse what is no duration.

    Args:
        samples_ns: As the runner gave them.
        where: The round or warm-up they come from, for the message.
        zero: Whether a zero is fine (a coarse clock, before calibration).

    Raises:
        CaseError: There are none, or one is NaN, infinite, negative, zero or absurd.
    """
    if not samples_ns:
        raise CaseError(f"{where} gave no samples", "let the workload report one duration per iteration")
    for value in samples_ns:
        if not SHORTEST_NS <= value <= LONGEST_NS and not (value == 0 and zero):
            amount = shown(value) if isinstance(value, int) else f"{value:g}"
            raise CaseError(
                f"{where} gave a duration of {amount} ns",
                "a duration is a finite number above zero; look at the clock or tool it comes from",
            )
    return samples_ns


def settle(runner: Runner, warmup: int, inner_loops: int | None, *, process: int) -> Warmth:
    """Run the unrecorded iterations and decide on inner loops.

    Args:
        runner: The workload.
        warmup: Unrecorded iterations.
        inner_loops: Calls per iteration where they were given; None: calibrate.
        process: Index of the process start, for messages.

    Raises:
        CaseError: A duration is none.
    """
    if isinstance(runner, SelfWarming):
        runner.warm_up(warmup)
        return Warmth(call_ns=None, beside_ns=0.0, inner_loops=1)
    where = f"the warm-up of process start {process + 1}"
    if not warmup and inner_loops is not None:
        return Warmth(call_ns=None, beside_ns=0.0, inner_loops=inner_loops)
    samples_ns = checked(runner.run(warmup or 1, 1), where=where, zero=True)
    call_ns = min(samples_ns)
    beside_ns = _beside(runner, samples_ns)
    if inner_loops is None:
        inner_loops, call_ns = calibrate(runner, call_ns, where=where)
    return Warmth(call_ns=call_ns, beside_ns=beside_ns, inner_loops=inner_loops)


def calibrate(runner: Runner, call_ns: float, *, where: str) -> tuple[int, float]:
    """Find how many calls make an iteration of at least a thousand steps of the clock.

    Args:
        runner: The workload; one that does not know its clock's step gets one call per iteration.
        call_ns: Time of one call, 0 where the clock was too coarse to see it.
        where: For messages.

    Returns:
        Inner loops, a power of ten, and the time of one call in ns.
    """
    tick_ns = runner.tick_ns if isinstance(runner, Ticking) else None
    loops = 1
    if isinstance(runner, Looping) and not runner.loops:
        return loops, call_ns
    if not tick_ns or not math.isfinite(tick_ns):
        return loops, call_ns
    while call_ns * loops < TICKS_PER_ITERATION * tick_ns and loops < MAX_INNER_LOOPS:
        loops *= INNER_LOOPS_STEP
        call_ns = min(checked(runner.run(_PROBES, loops), where=where, zero=True))
    return loops, call_ns


def _beside(runner: Runner, samples_ns: Sequence[float]) -> float:
    """Tell the untimed part of an iteration from the wall time the runner saw."""
    wall_ns = runner.witness().wall_ns if isinstance(runner, Witnessing) else None
    if wall_ns is None:
        return 0.0
    return max(0.0, wall_ns - sum(samples_ns)) / len(samples_ns)

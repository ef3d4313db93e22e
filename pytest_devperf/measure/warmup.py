"""Warming a workload up, and finding out how many calls make one iteration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_devperf.errors import CaseError
from pytest_devperf.metric import LONGEST_NS, SHORTEST_NS
from pytest_devperf.targets.awaited import AnyRunner, run_timed
from pytest_devperf.targets.protocol import ContextReporting, Looping, SelfWarming, Ticking
from pytest_devperf.untrusted import shown

__tracebackhide__ = True
# pytest leaves these frames out: a workload's own exception is shown from the test to where it was raised.

TICKS_PER_ITERATION = 1000
"""Steps of the clock in one iteration: the step is then a thousandth of what is measured."""

TICKS_SEEN = 100
"""The same where the step is only seen in a few durations, which may all be multiples of several steps: a hundredth,
half of the usual tolerance, is fine enough then."""

STEP_SLACK = 1e-6
"""Part of a step by which a multiple of it may be off: what dividing inner loops out leaves of a float."""

INNER_LOOPS_STEPS = (1, 2, 5, 10)
"""Inner loops are one of these times a power of ten: two runs of the same code then mostly agree on them, and no
iteration takes much longer than it has to."""

TRUSTED_SHARE = 0.02
"""Part of a long enough iteration from which on a probe shows how long a call takes; a shorter one is repeated ten
times as much. It is 20 steps of a clock that is known."""

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


async def settle(runner: AnyRunner, warmup: int, inner_loops: int | None, *, process: int) -> Warmth:
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
    samples_ns = checked(await run_timed(runner, warmup or 1, 1), where=where, zero=True)
    check_tick(runner, samples_ns, 1, where=where)
    call_ns = min(samples_ns)
    beside_ns = _beside(runner, samples_ns)
    if inner_loops is None:
        inner_loops, call_ns = await calibrate(runner, samples_ns, where=where)
    return Warmth(call_ns=call_ns, beside_ns=beside_ns, inner_loops=inner_loops)


async def calibrate(runner: AnyRunner, samples_ns: Sequence[float], *, where: str) -> tuple[int, float]:
    """Find how many calls make an iteration that is long beside the step of the clock.

    Args:
        runner: The workload.
        samples_ns: Its calls so far, one by one; zeros where the clock was too coarse to see them.
        where: For messages.

    Returns:
        Inner loops and the time of one call in ns.

    Raises:
        CaseError: A duration or the step that the runner states is none, or the clock does not move.
    """
    if isinstance(runner, Looping) and not runner.loops:
        return 1, min(samples_ns)
    told_ns = told_tick(runner, where=where)
    loops, last_ns, seen_ns = 1, list(samples_ns), list(samples_ns)
    while loops < MAX_INNER_LOOPS and _is_short(min(last_ns), wanted_ns := _wanted_ns(told_ns, seen_ns)):
        took_ns = min(last_ns)
        is_trusted = wanted_ns is not None and took_ns >= TRUSTED_SHARE * wanted_ns
        loops = rounded_up(loops * wanted_ns / took_ns) if wanted_ns and is_trusted else loops * 10
        probed_ns = checked(await run_timed(runner, _PROBES, loops), where=where, zero=True)
        last_ns = [each * loops for each in probed_ns]
        seen_ns += last_ns
    if not any(last_ns):
        raise CaseError(
            f"{where}: the clock did not move in {_PROBES * loops:,} calls",
            "look at the clock that the runner times with",
        )
    return loops, min(last_ns) / loops


def told_tick(runner: AnyRunner, *, where: str) -> float | None:
    """Ask a runner for the step of its clock; None if it does not know.

    Raises:
        CaseError: What it says is no step.
    """
    tick_ns = runner.tick_ns if isinstance(runner, Ticking) else None
    if not tick_ns:
        return None
    if not math.isfinite(tick_ns) or tick_ns < 0:
        raise CaseError(f"{where}: the runner says that its clock moves by {tick_ns:g} ns", "a step is a finite number")
    return tick_ns


def check_tick(runner: AnyRunner, samples_ns: Sequence[float], inner_loops: int, *, where: str) -> None:
    """Refuse a step of the clock that is longer than everything it timed: it would hide any change.

    Raises:
        CaseError: It is, or it is no step.
    """
    tick_ns, longest_ns = told_tick(runner, where=where), max(samples_ns) * inner_loops
    if tick_ns is not None and tick_ns > longest_ns > 0:
        raise CaseError(
            f"{where}: the runner says that its clock moves by {tick_ns:g} ns, and timed {longest_ns:g} ns with it",
            "look at the runner's tick_ns",
        )


def _wanted_ns(told_ns: float | None, seen_ns: Sequence[float]) -> float | None:
    """Tell how long an iteration has to be, by the step of the clock as told or else as seen; None if none shows."""
    if told_ns is not None:
        return TICKS_PER_ITERATION * told_ns
    step_ns = seen_step(seen_ns)
    return None if step_ns is None else TICKS_SEEN * step_ns


def _is_short(iteration_ns: float, wanted_ns: float | None) -> bool:
    return iteration_ns == 0 or (wanted_ns is not None and iteration_ns < wanted_ns)


def seen_step(durations_ns: Sequence[float]) -> float | None:
    """Find the step of a clock in what it gave: the smallest difference, if every duration is a multiple of it.

    >>> seen_step([2_000_000, 1_000_000, 4_000_000]), seen_step([1_000_123, 1_050_456, 1_200_789])
    (1000000, None)
    """
    levels = sorted(set(durations_ns))
    steps_ns = [later - earlier for earlier, later in pairwise(levels)]
    if not steps_ns:
        return None
    step_ns = min(steps_ns)
    whole = all(math.isclose(each / step_ns, round(each / step_ns), abs_tol=STEP_SLACK) for each in levels)
    return step_ns if whole else None


def rounded_up(calls: float) -> int:
    """Round a number of calls up to 1, 2 or 5 times a power of ten.

    >>> [rounded_up(calls) for calls in (1, 1.1, 21, 500, 501, 10**9)]
    [1, 2, 50, 500, 1000, 10000000]
    """
    power = int(10 ** math.floor(math.log10(calls)))
    return min(MAX_INNER_LOOPS, next(step * power for step in INNER_LOOPS_STEPS if step * power >= calls))


def _beside(runner: AnyRunner, samples_ns: Sequence[float]) -> float:
    """Tell the untimed part of an iteration from the wall time the runner saw."""
    wall_ns = runner.round_context().wall_ns if isinstance(runner, ContextReporting) else None
    if wall_ns is None:
        return 0.0
    return max(0.0, wall_ns - sum(samples_ns)) / len(samples_ns)

"""Warm up a workload, and choose how many calls form one iteration."""

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
# pytest hides these frames: the traceback of a workload's exception then starts in the test.

TICKS_PER_ITERATION = 1000
"""Steps of the clock in one iteration: one step is then a thousandth of the measured time."""

TICKS_SEEN = 100
"""The same if the step is only inferred from a few durations, which may all be multiples of several steps: a hundredth,
half of the usual tolerance, is then fine enough."""

STEP_SLACK = 1e-6
"""Relative deviation from a multiple of a step: the rounding error of dividing by inner loops."""

INNER_LOOPS_STEPS = (1, 2, 5, 10)
"""Inner loops are one of these times a power of ten, so that two runs of the same code mostly agree on them, and no
iteration takes much longer than necessary."""

TRUSTED_SHARE = 0.02
"""Part of a sufficient iteration from which a probe determines the duration of a call; a shorter probe is repeated with
ten times as many calls. It is 20 steps of a clock with a known step."""

MAX_INNER_LOOPS = 10**7
"""More calls than any clock needs: an empty function of 20 ns with a step of 0.2 ms."""

_PROBES = 3
"""Iterations of a probe; the fastest counts, so that a single disturbance has no effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmupTimes:
    """Times determined by the warmup."""

    call_ns: float | None
    """Time of one call after the warmup; None if nothing was run (a tool that warms itself up)."""
    untimed_ns: float
    """Untimed part of one iteration (a setup), if the runner knows it."""
    inner_loops: int


def checked(samples_ns: Sequence[float], *, where: str, zero: bool = False) -> Sequence[float]:
    """Refuse values that are not durations.

    Args:
        samples_ns: As returned by the runner.
        where: The round or warmup, for the message.
        zero: Whether zero is allowed (a coarse clock, before calibration).

    Raises:
        CaseError: There are none, or one is NaN, infinite, negative, zero or implausible.
    """
    if not samples_ns:
        raise CaseError(f"{where} gave no samples", "let the workload report one duration per iteration")
    for value in samples_ns:
        if not SHORTEST_NS <= value <= LONGEST_NS and not (value == 0 and zero):
            amount = shown(value) if isinstance(value, int) else f"{value:g}"
            raise CaseError(
                f"{where} gave a duration of {amount} ns",
                "a duration is a finite number above zero; check the clock or tool that measured it",
            )
    return samples_ns


async def warm_up(runner: AnyRunner, warmup: int, inner_loops: int | None, *, process: int) -> WarmupTimes:
    """Run the unrecorded iterations and choose the inner loops.

    Args:
        runner: The workload.
        warmup: Unrecorded iterations.
        inner_loops: Calls per iteration if given; None: calibrate.
        process: Index of the process start, for messages.

    Raises:
        CaseError: A duration is not valid.
    """
    if isinstance(runner, SelfWarming):
        runner.warm_up(warmup)
        return WarmupTimes(call_ns=None, untimed_ns=0.0, inner_loops=1)
    where = f"the warm-up of process start {process + 1}"
    if not warmup and inner_loops is not None:
        return WarmupTimes(call_ns=None, untimed_ns=0.0, inner_loops=inner_loops)
    samples_ns = checked(await run_timed(runner, warmup or 1, 1), where=where, zero=True)
    check_tick(runner, samples_ns, 1, where=where)
    call_ns = min(samples_ns)
    untimed_ns = _untimed_ns(runner, samples_ns)
    if inner_loops is None:
        inner_loops, call_ns = await calibrate(runner, samples_ns, where=where)
    return WarmupTimes(call_ns=call_ns, untimed_ns=untimed_ns, inner_loops=inner_loops)


async def calibrate(runner: AnyRunner, samples_ns: Sequence[float], *, where: str) -> tuple[int, float]:
    """Choose how many calls form an iteration that is long compared to the step of the clock.

    Args:
        runner: The workload.
        samples_ns: Its calls so far, one by one; zero if the clock was too coarse.
        where: The round or warmup, for the message.

    Returns:
        Inner loops and the time of one call in ns.

    Raises:
        CaseError: A duration or the runner's step is not valid, or the clock does not advance.
    """
    if isinstance(runner, Looping) and not runner.loops:
        return 1, min(samples_ns)
    reported_ns = read_tick(runner, where=where)
    loops, last_ns, seen_ns = 1, list(samples_ns), list(samples_ns)
    while loops < MAX_INNER_LOOPS and _is_short(min(last_ns), wanted_ns := _wanted_ns(reported_ns, seen_ns)):
        took_ns = min(last_ns)
        is_trusted = wanted_ns is not None and took_ns >= TRUSTED_SHARE * wanted_ns
        loops = rounded_up(loops * wanted_ns / took_ns) if wanted_ns and is_trusted else loops * 10
        probed_ns = checked(await run_timed(runner, _PROBES, loops), where=where, zero=True)
        last_ns = [each * loops for each in probed_ns]
        seen_ns += last_ns
    if not any(last_ns):
        raise CaseError(
            f"{where}: the clock did not advance in {_PROBES * loops:,} calls",
            "check the clock of the runner",
        )
    return loops, min(last_ns) / loops


def read_tick(runner: AnyRunner, *, where: str) -> float | None:
    """Ask a runner for the step of its clock; return None if it does not know it.

    Raises:
        CaseError: Its answer is not a valid step.
    """
    tick_ns = runner.tick_ns if isinstance(runner, Ticking) else None
    if not tick_ns:
        return None
    if not math.isfinite(tick_ns) or tick_ns < 0:
        raise CaseError(f"{where}: the runner reports a clock step of {tick_ns:g} ns", "a step is a finite number")
    return tick_ns


def check_tick(runner: AnyRunner, samples_ns: Sequence[float], inner_loops: int, *, where: str) -> None:
    """Refuse a step of the clock that is longer than every duration: it would hide any change.

    Raises:
        CaseError: It is longer, or it is not a valid step.
    """
    tick_ns, longest_ns = read_tick(runner, where=where), max(samples_ns) * inner_loops
    if tick_ns is not None and tick_ns > longest_ns > 0:
        raise CaseError(
            f"{where}: the runner reports a clock step of {tick_ns:g} ns, but timed {longest_ns:g} ns with it",
            "check the runner's tick_ns",
        )


def _wanted_ns(reported_ns: float | None, seen_ns: Sequence[float]) -> float | None:
    """Return the required duration of an iteration, from the reported or else the observed step; None if not known."""
    if reported_ns is not None:
        return TICKS_PER_ITERATION * reported_ns
    step_ns = seen_step(seen_ns)
    return None if step_ns is None else TICKS_SEEN * step_ns


def _is_short(iteration_ns: float, wanted_ns: float | None) -> bool:
    return iteration_ns == 0 or (wanted_ns is not None and iteration_ns < wanted_ns)


def seen_step(durations_ns: Sequence[float]) -> float | None:
    """Infer the step of a clock from durations: the smallest difference, if every duration is a multiple of it.

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


def _untimed_ns(runner: AnyRunner, samples_ns: Sequence[float]) -> float:
    """Return the untimed part of an iteration, from the wall time reported by the runner."""
    wall_ns = runner.round_context().wall_ns if isinstance(runner, ContextReporting) else None
    if wall_ns is None:
        return 0.0
    return max(0.0, wall_ns - sum(samples_ns)) / len(samples_ns)

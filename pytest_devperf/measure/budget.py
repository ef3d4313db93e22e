"""Fit a plan into the time budget of a case."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_devperf.case.plan import MIN_ITERATIONS, MIN_ROUNDS

OVERRUN = 10.0
"""Factor by which a case with a baseline may exceed its budget for its fewest rounds.

A baseline fixes the iterations, so code that became ten times slower no longer fits. A verdict of inconclusive
would then hide exactly the regression that the run should detect.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The durations of the parts of a case, in seconds."""

    iteration_s: float
    """One iteration, including all inner loops and its untimed setup."""
    round_s: float = 0.0
    """One round, apart from its iterations: the rest after it."""
    start_s: float = 0.0
    """One process start: creating the workload and warming it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The part of a plan that fits into the budget."""

    rounds: int
    iterations: int
    needs_s: float | None = None
    """The budget that the fewest rounds would need, if not even they fit."""


def fit(  # noqa: PLR0913 - every parameter has a single meaning
    cost: Cost,
    *,
    rounds: int,
    iterations: int,
    processes: int,
    max_time_s: float,
    fixed: bool,
    judged: bool,
    fewest: int = MIN_ROUNDS,
) -> Fit:
    """Reduce iterations, then rounds, until a case fits into its budget.

    Args:
        cost: The durations of its parts.
        rounds: Planned over all process starts.
        iterations: Planned per round.
        processes: Process starts planned.
        max_time_s: The budget.
        fixed: Whether the iterations are given and cannot be reduced.
        judged: Whether there is a baseline: the fewest rounds may then exceed the budget (`OVERRUN`).
        fewest: Fewest rounds for a verdict.
    """
    left_s = max_time_s - processes * cost.start_s
    if rounds * (iterations * cost.iteration_s + cost.round_s) <= left_s:
        return Fit(rounds=rounds, iterations=iterations)
    if not fixed and cost.iteration_s > 0:
        affordable = math.floor((left_s / rounds - cost.round_s) / cost.iteration_s)
        if affordable >= MIN_ITERATIONS:
            return Fit(rounds=rounds, iterations=min(iterations, affordable))
        iterations = min(iterations, MIN_ITERATIONS)
    per_round_s = iterations * cost.iteration_s + cost.round_s
    fewest = min(rounds, fewest)
    affordable = min(rounds, math.floor(left_s / per_round_s)) if per_round_s > 0 else 0
    if affordable >= fewest:
        return Fit(rounds=affordable, iterations=iterations)
    needs_s = processes * cost.start_s + fewest * per_round_s
    if judged and needs_s <= OVERRUN * max_time_s:
        return Fit(rounds=fewest, iterations=iterations)
    return Fit(rounds=0, iterations=iterations, needs_s=math.ceil(needs_s * 10) / 10)

"""How much of a plan fits into the time a case may take."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pytest_devperf.case.plan import MIN_ITERATIONS, MIN_ROUNDS

OVERRUN = 10.0
"""How many times its budget a case with a baseline may take for its fewest rounds.

A baseline fixes the iterations, so code that became ten times slower no longer fits. Calling that
inconclusive would pass the very regression the run was made to find.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the parts of a case take, in seconds."""

    iteration_s: float
    """One iteration with all its inner loops and its untimed setup."""
    round_s: float = 0.0
    """One round beside its iterations: the rest after it."""
    start_s: float = 0.0
    """One process start: bringing the workload up and warming it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What is measured of a case within its budget."""

    rounds: int
    iterations: int
    needs_s: float | None = None
    """Where not even the fewest rounds fit, the budget that would do."""


def fit(  # noqa: PLR0913 - what it fits into what, each with one meaning
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
    """Cut iterations, then rounds, until a case fits its budget.

    Args:
        cost: What its parts take.
        rounds: Planned over all process starts.
        iterations: Planned per round.
        processes: Process starts planned.
        max_time_s: The budget.
        fixed: Whether the iterations were given and stay.
        judged: Whether a baseline waits: then the fewest rounds may overrun the budget (`OVERRUN`).
        fewest: Rounds below which there is no verdict.
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

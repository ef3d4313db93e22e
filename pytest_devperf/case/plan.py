"""The plan of a measurement: how many rounds, iterations and process starts.

A field has the same name in the option (`--devperf-min-rounds`), the ini key (`devperf_min_rounds`),
the marker keyword (`min_rounds=`) and the JSON key (`min_rounds`). The JSON key of a time also
includes its unit (`round_cooldown_s`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Suite = Literal["quick", "full"]
Order = Literal["interleaved", "sequential"]
Counting = Literal["no", "also", "only"]

MIN_ITERATIONS = 5
"""Fewest iterations per round for a slow workload: with fewer than five, the quartiles of a round mean nothing."""

MIN_ROUNDS = 3
"""Fewest rounds for a slow workload; no case stops earlier."""


MIN_NARROW_ROUNDS = 5
"""Fewest rounds if a round has fewer than `MIN_ITERATIONS` samples: the quartiles are then taken over the rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much of a case to measure: rounds, process starts, and the conditions around them."""

    suite: Suite = "quick"
    """The selected suite: quick, or quick and full."""
    processes: int = 3
    """Process starts over which the rounds are spread; 1: measure everything in this process."""
    rounds: int = 12
    """Rounds in total."""
    min_rounds: int = 5
    """Rounds before convergence may stop a case."""
    iterations: int = 30
    """Recorded iterations in a round."""
    warmup: int = 3
    """Unrecorded iterations after each process start."""
    max_time: float = 60.0
    """Time budget of one case in seconds, without confirmations."""
    cooldown: str = "auto"
    """`auto`, `off`, seconds, or `temp=C`: what to wait for before each pass."""
    cooldown_floor: float = 30.0
    """Shortest wait for a temperature plateau, in seconds."""
    cooldown_max: float = 900.0
    """Longest wait for a temperature plateau, in seconds."""
    round_cooldown: float | None = None
    """Seconds between rounds; None: 0 on the host, 0.5 on a phone."""
    stability_target: float = 0.03
    """Coefficient of variation of the round medians below which a case has converged, also used for the grade."""
    patience: int = 2
    """Consecutive rounds on target after which a case has converged."""
    pin_clocks: str = "auto"
    """`off`, `auto` or `on`: whether to pin a phone's clocks."""
    affinity: str | None = None
    """CPUs that the workload runs on (`0-3`, `big`, `little`); None: the system decides."""
    count: Counting = "no"
    """Whether to count instructions as well (`also`), or nothing else (`only`)."""
    order: Order = "interleaved"
    """Whether process starts of different cases alternate."""
    seed: int = 0
    """Seed of the order of cases."""


PLAN_UNITS = {
    "max_time": "max_time_s",
    "round_cooldown": "round_cooldown_s",
    "cooldown_floor": "cooldown_floor_s",
    "cooldown_max": "cooldown_max_s",
}
"""JSON keys of the fields that are times: a stored number includes its unit."""


def fewest_rounds(width: int | None) -> int:
    """Return the number of rounds that a verdict needs at least.

    Args:
        width: Samples per round. A tool that prints an average, or a program timed as a whole, yields one sample.
            None: not known yet.

    >>> fewest_rounds(30), fewest_rounds(1)
    (3, 5)
    """
    return MIN_ROUNDS if width is None or width >= MIN_ITERATIONS else MIN_NARROW_ROUNDS


def rounds_of_start(rounds: int, processes: int, process: int) -> int:
    """Return the number of rounds that one process start runs.

    The first `rounds mod processes` starts run one more.

    >>> [rounds_of_start(12, 5, p) for p in range(5)]
    [3, 3, 2, 2, 2]
    """
    each, more = divmod(rounds, processes)
    return each + (1 if process < more else 0)


def rounds_of_first_look(rounds: int, processes: int, process: int) -> int:
    """Return the number of rounds that one process start runs if the run is compared.

    The first start runs as many as an early pass needs, so that unchanged code can stop there; the others share
    the rest.

    >>> [rounds_of_first_look(12, 6, p) for p in range(6)]
    [3, 2, 2, 2, 2, 1]
    >>> [rounds_of_first_look(12, 3, p) for p in range(3)]
    [4, 4, 4]
    """
    first = max(rounds_of_start(rounds, processes, 0), min(MIN_ROUNDS, rounds - processes + 1))
    if process == 0 or processes == 1:
        return first
    return rounds_of_start(rounds - first, processes - 1, process - 1)

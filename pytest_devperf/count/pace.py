"""How often a workload runs for one count, and how many counts are taken."""

from __future__ import annotations

from dataclasses import dataclass

REPETITIONS = 5
"""Counts of which the median is taken: an interpreter's caches still settle in the first ones (up to 2.6 %)."""

LAYOUTS = 3
"""Memory layouts that a case is counted in; their range is the run's own IQR."""

LEAST_IR = 200_000
"""Instructions that one count has at least: a smaller workload is repeated, so that a few hundred instructions of
housekeeping (a dictionary that grows, a block that is split) are less than 0.1 %."""

SMALLEST_IR = 50.0
"""Instructions that a call has at least: what it adds to an empty one may be less than nothing."""

LARGEST_IR = 200_000_000
"""Instructions beyond which a workload is counted only once: callgrind executes about 90 million a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a workload is counted; two counts are comparable if their paces are equal."""

    loops: int
    """Runs of the workload in one count."""
    repetitions: int
    """Counts of which the median is taken."""


def pace_of(single_ir: float) -> Pace:
    """Choose the pace of a workload by the instructions of a single run.

    >>> pace_of(300), pace_of(5_000_000), pace_of(3_000_000_000)
    (Pace(loops=1024, repetitions=5), Pace(loops=1, repetitions=5), Pace(loops=1, repetitions=1))
    """
    loops = 1
    while loops * max(single_ir, SMALLEST_IR) < LEAST_IR:
        loops *= 2
    return Pace(loops=loops, repetitions=REPETITIONS if single_ir < LARGEST_IR else 1)

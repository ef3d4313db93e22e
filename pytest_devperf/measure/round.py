"""A round, and the plan and the result of a process start."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Literal

from pytest_devperf.case.plan import MIN_ITERATIONS, fewest_rounds
from pytest_devperf.case.workload import Repeats
from pytest_devperf.targets.protocol import RoundContext

Stop = Literal["done", "early-pass", "converged", "too-slow"]
"""Why the rounds of a metric ended in a process start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round(RoundContext):
    """Timed iterations, and the conditions around them."""

    process: int
    """Zero-based index of the process start."""
    samples_ns: tuple[float, ...]
    """(iterations,) ns each, divided by inner loops; integers if there is one inner loop."""
    anchor_ns: float | None = None
    """Median time of the anchor kernel before and after the round."""

    @classmethod
    def within(
        cls, context: RoundContext, *, process: int, samples_ns: tuple[float, ...], anchor_ns: float | None
    ) -> Round:
        """Build a round from its samples and its context."""
        surroundings = {each.name: getattr(context, each.name) for each in fields(RoundContext)}
        return cls(process=process, samples_ns=samples_ns, anchor_ns=anchor_ns, **surroundings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """Summary of the rounds so far in a look, for one metric."""

    medians_ns: tuple[float, ...] = ()
    """Median of each round."""
    lowest_ns: float | None = None
    """Lowest centre of a round, as computed by `undisturbed`; None before the first."""
    width: int | None = None
    """Number of samples in the shortest round; None before the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlan:
    """The plan of one process start for one metric; sent to fresh interpreters as JSON."""

    process: int
    """Zero-based index of this process start."""
    rounds: int
    """Most rounds of this start."""
    total_rounds: int
    """Rounds planned for all starts."""
    processes: int
    """Process starts planned."""
    iterations: int
    """Recorded iterations per round."""
    inner_loops: int | None = None
    """Calls per iteration; None: calibrate (start 1 without a baseline)."""
    fixed: bool = False
    """Whether iterations and inner loops were given by a baseline, the command line or an earlier start:
    they are then not fitted to the budget."""
    earlier: Earlier = field(default_factory=Earlier)
    """Summary of the earlier starts of this look."""
    bound_ns: float | None = None
    """Early-pass bound: a centre at or below it ends the metric; None: no bound."""
    converge: bool = False
    """Whether convergence may end the metric."""
    ready: int | None = None
    """Iterations of the first round if it only warms up the workload; None: as many as in other rounds."""

    def iterations_of(self, index: int, usual: int) -> int:
        """Return the iterations of a round by its zero-based index, where `usual` is the number in other rounds."""
        return usual if index or self.ready is None else self.ready

    def repeating(self, repeats: Repeats) -> StartPlan:
        """Return the plan of a start in which the test determines how often to call.

        Nothing ends it early and nothing is fitted. Rounds of starts in turns are counted by both sides, so only
        their iterations change.
        """
        rounds = rounds_of(repeats.samples)
        same = replace(self, iterations=repeats.samples // rounds, inner_loops=repeats.inner_loops, fixed=True)
        if self.ready is not None:
            return replace(same, ready=same.iterations)
        starts = max(self.processes, fewest_rounds(same.iterations)) if rounds == 1 else self.processes
        return replace(same, rounds=rounds, total_rounds=rounds * starts, bound_ns=None, converge=False)


MOST_ROUNDS_OF_START = 4
"""Rounds of a start in which the test determines how often to call, as the default plan has in each of three starts."""


def rounds_of(samples: int) -> int:
    """Return the number of rounds into which samples can be divided evenly, none with too few for its quartiles.

    >>> [rounds_of(samples) for samples in (1, 7, 10, 50, 1000)]
    [1, 1, 2, 2, 4]
    """
    fits = (n for n in range(MOST_ROUNDS_OF_START, 1, -1) if samples % n == 0 and samples // n >= MIN_ITERATIONS)
    return next(fits, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartResult:
    """The result of one process start for one metric."""

    rounds: tuple[Round, ...]
    iterations: int
    inner_loops: int
    total_rounds: int
    """Rounds planned for all starts after fitting the budget."""
    tick_ns: float | None
    """Smallest step of the clock, not divided by inner loops; None if the runner does not know it."""
    stop: Stop
    needs_s: float | None = None
    """For `too-slow`: the `max_time` that would be enough."""

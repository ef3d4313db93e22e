"""One round, and what a process start is asked for and gives back."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

from pytest_devperf.targets.protocol import RoundContext

Stop = Literal["done", "early-pass", "converged", "too-slow"]
"""Why a process start ended a metric's rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round(RoundContext):
    """Timed iterations, and what surrounded them."""

    process: int
    """Zero-based index of the process start."""
    samples_ns: tuple[float, ...]
    """(iterations,) ns each, inner loops divided out; integers where there is one inner loop."""
    anchor_ns: float | None = None
    """Median time of the anchor kernel around the round."""

    @classmethod
    def within(
        cls, context: RoundContext, *, process: int, samples_ns: tuple[float, ...], anchor_ns: float | None
    ) -> Round:
        """Make a round of its samples and what surrounded them."""
        surroundings = {each.name: getattr(context, each.name) for each in fields(RoundContext)}
        return cls(process=process, samples_ns=samples_ns, anchor_ns=anchor_ns, **surroundings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What the rounds of a look so far come to, for one metric."""

    medians_ns: tuple[float, ...] = ()
    """Median of each round."""
    lowest_ns: float | None = None
    """Lowest centre of a round, as `undisturbed` gives it; None before the first."""
    width: int | None = None
    """Samples in the shortest round; None before the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlan:
    """What one process start is asked to do for one metric; travels to fresh interpreters as JSON."""

    process: int
    """Zero-based index of this process start."""
    rounds: int
    """Rounds this start takes at most."""
    total_rounds: int
    """Rounds planned over all starts."""
    processes: int
    """Process starts planned."""
    iterations: int
    """Recorded iterations per round."""
    inner_loops: int | None = None
    """Calls per iteration; None: calibrate (start 1 without a baseline)."""
    fixed: bool = False
    """Whether iterations and inner loops were given (by a baseline, the command line or an earlier start):
    they are then not fitted to the budget."""
    earlier: Earlier = field(default_factory=Earlier)
    """What earlier starts of this look found."""
    bound_ns: float | None = None
    """Early-pass bound: a centre at or below it ends the metric; None: never."""
    converge: bool = False
    """Whether convergence may end the metric."""
    ready: int | None = None
    """Iterations of the first round, where it only gets the workload ready; None: as many as the others have."""

    def iterations_of(self, index: int, usual: int) -> int:
        """Give the iterations of a round by its zero-based index, where the others have `usual`."""
        return usual if index or self.ready is None else self.ready


@dataclass(frozen=True, slots=True, kw_only=True)
class StartResult:
    """What one process start gave for one metric."""

    rounds: tuple[Round, ...]
    iterations: int
    inner_loops: int
    total_rounds: int
    """Rounds planned over all starts after the budget was fitted."""
    tick_ns: float | None
    """Smallest step of the clock, undivided; None where the runner does not know it."""
    stop: Stop
    needs_s: float | None = None
    """For `too-slow`: the `max_time` that would do."""

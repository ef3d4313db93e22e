"""Pairs of process starts of the old and the new code, whose rounds were measured in turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from pytest_devperf import stats
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.estimate import estimate
from pytest_devperf.measure.undisturbed import undisturbed
from pytest_devperf.record.record import Measurement

ROUNDS = 2
"""Rounds of each code in a pair: the better of two avoids a burst of interference in one of them."""

READY = 1
"""Rounds of each code in a pair that are discarded: both sides warm up before the turns begin."""

READY_PART = 3
"""Such a round has a third of the iterations: with all of them, verdicts are the same and cost a quarter more."""

STEADY = 0.005
"""Difference between the rounds of a pair below which one round of each code is enough: a quarter of the tolerance."""

TURNS = ("ABBA", "BAAB")
"""Order of the rounds in even and odd pairs, A is the old code: a steady drift cancels within each pair."""

CORES_APART = 1.25
"""Ratio beyond which both sides of a pair ran on different kinds of cores: these are 1.3 to 4 times apart, and neither
layout nor hash seed nor heat makes up a quarter.
"""

FEWEST_PAIRS = 3
"""Fewest pairs for excluding any and for a verdict: two pairs have hardly a spread."""

WIDTH_QUANTILE = 0.25
"""Quantile of the rounds' widths that is the run's own IQR: the calmer rounds show the variation of the code itself."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One pair: centres of the rounds of both codes, in ns per call; rounds with equal indices are adjacent."""

    old: tuple[float, ...]
    new: tuple[float, ...]

    @property
    def difference(self) -> float:
        """Logarithm of new over old, best round against best round."""
        return math.log(min(self.new) / min(self.old))

    @property
    def unrest(self) -> float | None:
        """Distance between the differences of its first two rounds; None for a pair with one round of each code."""
        if len(self.old) < ROUNDS or len(self.new) < ROUNDS:
            return None
        first, second = (math.log(self.new[place] / self.old[place]) for place in range(ROUNDS))
        return abs(first - second)


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of one metric so far."""

    all: tuple[Pair, ...]
    iqr: float
    """As a fraction: the IQR of the calmer rounds, or the variation of differences within a pair, whichever is less."""
    tick: float
    """Step of the coarser clock, as a fraction of the old code's time."""
    old: float
    """Median of the old code's best rounds, in ns."""

    @property
    def kept(self) -> tuple[Pair, ...]:
        """The pairs that are not excluded."""
        return alike(self.all)


def turns(pair: int, rounds: int = ROUNDS) -> str:
    """Return the order of the rounds in a pair of process starts; `A` is the old code, `B` the new.

    >>> turns(0), turns(1), turns(2, rounds=1)
    ('ABBA', 'BAAB', 'AB')
    """
    return TURNS[pair % 2][: 2 * rounds]


def turns_and_ready(pair: int, rounds: int = ROUNDS) -> str:
    """Return the same order, after the rounds that warm up both sides.

    >>> turns_and_ready(0), turns_and_ready(1, rounds=1)
    ('ABABBA', 'BABA')
    """
    order = turns(pair, rounds)
    return "".join(dict.fromkeys(order)) * READY + order


def ready_iterations(iterations: int) -> int:
    """Return the iterations of a round that only warms up a side.

    >>> ready_iterations(30), ready_iterations(5)
    (10, 2)
    """
    return -(-iterations // READY_PART)


def rounds_of_next(pairs: Sequence[Pair]) -> int:
    """Return how many rounds of each code the next pair runs: one if the pairs have been steady so far."""
    unrests = _unrests(pairs)
    return 1 if unrests and math.sqrt(2) * stats.median(unrests) <= STEADY else ROUNDS


def alike(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Exclude pairs whose sides ran on different kinds of cores.

    The remaining pairs are close to the one with the smallest difference. A large difference may be due to slower code
    in some pairs or to a slower core; the rule assumes the explanation that fails no test. If even that pair differs by
    as much as cores do, the two cannot be distinguished, and nothing is excluded.

    Returns:
        The remaining pairs; all of them if fewer than `FEWEST_PAIRS` would remain, or if every pair differs by more
        than `CORES_APART`.
    """
    nearest = min((pair.difference for pair in pairs), key=abs, default=0.0)
    apart = math.log(CORES_APART)
    kept = tuple(pair for pair in pairs if abs(pair.difference - nearest) <= apart)
    return tuple(pairs) if len(kept) < FEWEST_PAIRS or abs(nearest) > apart else kept


def describe_set_aside(kept: int, count: int, of: str) -> str | None:
    """Describe how many of a number of pairs were excluded; None if none were.

    Args:
        kept: How many were not.
        count: How many there are.
        of: What the pairs consist of.
    """
    if kept == count:
        return None
    return (
        f"{count - kept} of {count} pairs of {of} set aside, because their sides differ by more than "
        "a quarter from the other pairs, as on cores of different kinds"
    )


def pairs_of(old: Measurement, new: Measurement, policy: Policy) -> Pairs:
    """Build the pairs that both sides have.

    Args:
        old: Rounds of the old code, in order; a process start is its side of a pair.
        new: Rounds of the new code.
        policy: Determines which IQR is the run's own.

    Raises:
        NotSamples: A side contains invalid samples.
    """
    ticks = [estimate(side, iqr=policy.iqr, anchor=False).tick for side in (old, new)]
    centres, widths = zip(*(_rounds(side) for side in (old, new)), strict=True)
    pairs = tuple(Pair(*both) for both in zip(*centres, strict=False))
    best = stats.median([min(pair.old) for pair in pairs])
    return Pairs(all=pairs, iqr=_iqr(pairs, widths), tick=max(ticks) / best, old=best)


def _rounds(side: Measurement) -> tuple[list[tuple[float, ...]], list[float]]:
    """Return the centres of each process start's rounds, and the relative widths of all rounds."""
    rows = side.samples_ns or ()
    ran_ns = side.ran_ns if len(side.ran_ns) >= len(rows) else ()
    found = undisturbed(rows, ran_ns, side.inner_loops or 1)
    starts = [
        tuple(centre for _, centre in group)
        for _, group in groupby(zip(side.process, found.centres, strict=False), key=lambda each: each[0])
    ]
    calm = zip(found.centres, found.widths, found.interrupted, strict=True)
    return starts, [width / centre for centre, width, interrupted in calm if not interrupted]


def _iqr(pairs: Sequence[Pair], widths: Sequence[Sequence[float]]) -> float:
    """Return the run's own IQR: of iterations or of paired differences, whichever drift and jumps affect less."""
    within = max(
        (stats.quantile(side, WIDTH_QUANTILE) if len(side) >= FEWEST_PAIRS else math.inf for side in widths),
        default=math.inf,
    )
    unrests = _unrests(alike(pairs))
    paired = math.sqrt(2) * stats.median(unrests) if len(unrests) > 1 else math.inf
    least = min(within, paired)
    return least if math.isfinite(least) else stats.iqr([pair.difference for pair in pairs])


def _unrests(pairs: Sequence[Pair]) -> list[float]:
    return [unrest for unrest in (pair.unrest for pair in pairs) if unrest is not None]

"""Pairs of process starts, one of the old code and one of the new, that took their rounds in turns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from pytest_devperf import stats
from pytest_devperf.compare.estimate import estimate
from pytest_devperf.compare.policy import Policy
from pytest_devperf.measure.undisturbed import undisturbed
from pytest_devperf.record.record import Measurement

ROUNDS = 2
"""Rounds of each code in a pair: the better of two is spared a burst that hits one of them."""

READY = 1
"""Rounds of each code in a pair that are not kept: both get ready before the turns begin."""

READY_PART = 3
"""Such a round has a third of the iterations: with whole ones verdicts are the same and cost a quarter more."""

STEADY = 0.005
"""Difference between the rounds of a pair below which one round of each code is enough: a quarter of the tolerance."""

TURNS = ("ABBA", "BAAB")
"""Order of the rounds of even and odd pairs, A the old code: a steady drift cancels within each pair."""

CORES_APART = 1.25
"""Beyond this ratio both sides of a pair ran on cores of different kinds: those are 1.3 to 4 times apart, and
neither layout nor hash seed nor heat makes a quarter.
"""

FEWEST_PAIRS = 3
"""Pairs without which nothing is set aside, and nothing is judged: of two there is hardly a spread."""

WIDTH_QUANTILE = 0.25
"""Which of the rounds' widths is the run's own IQR: the calmer rounds say what the code itself scatters by."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One pair: centres of the rounds of both codes, in ns per call, the k-th taken next to the other's k-th."""

    old: tuple[float, ...]
    new: tuple[float, ...]

    @property
    def difference(self) -> float:
        """Logarithm of new over old, best round against best round."""
        return math.log(min(self.new) / min(self.old))

    @property
    def unrest(self) -> float | None:
        """How far the differences of its first two rounds lie apart; None of a pair with one round of each code."""
        if len(self.old) < ROUNDS or len(self.new) < ROUNDS:
            return None
        first, second = (math.log(self.new[place] / self.old[place]) for place in range(ROUNDS))
        return abs(first - second)


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of one metric so far."""

    all: tuple[Pair, ...]
    iqr: float
    """As a fraction: of the calmer rounds, or of how paired differences vary within a pair, whichever is less."""
    tick: float
    """Step of the coarser clock, as a fraction of the old code's time."""
    old: float
    """Median of the old code's best rounds, in ns."""

    @property
    def kept(self) -> tuple[Pair, ...]:
        """The pairs that are not set aside."""
        return alike(self.all)


def turns(pair: int, rounds: int = ROUNDS) -> str:
    """Give the order of the rounds of a pair of process starts; `A` is the old code, `B` the new.

    >>> turns(0), turns(1), turns(2, rounds=1)
    ('ABBA', 'BAAB', 'AB')
    """
    return TURNS[pair % 2][: 2 * rounds]


def ready_iterations(iterations: int) -> int:
    """Choose the iterations of a round in which a side gets ready.

    >>> ready_iterations(30), ready_iterations(5)
    (10, 2)
    """
    return -(-iterations // READY_PART)


def rounds_of_next(pairs: Sequence[Pair]) -> int:
    """Choose how many rounds of each code the next pair takes: one where pairs have been steady so far."""
    unrests = _unrests(pairs)
    return 1 if unrests and math.sqrt(2) * stats.median(unrests) <= STEADY else ROUNDS


def alike(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Leave out pairs whose sides landed on cores of different kinds.

    What is left lies around the pair that differs least. So of two explanations of a large difference, slower
    code in some pairs or a slower core, the one that fails no test is taken. Where even that pair differs by as
    much as cores do, nothing tells the two apart and nothing is left out.

    Returns:
        The pairs that are left; all of them where less than `FEWEST_PAIRS` would be, or where every pair differs
        by more than `CORES_APART`.
    """
    nearest = min((pair.difference for pair in pairs), key=abs, default=0.0)
    apart = math.log(CORES_APART)
    kept = tuple(pair for pair in pairs if abs(pair.difference - nearest) <= apart)
    return tuple(pairs) if len(kept) < FEWEST_PAIRS or abs(nearest) > apart else kept


def pairs_of(old: Measurement, new: Measurement, policy: Policy) -> Pairs:
    """Lay out the pairs that both sides have.

    Args:
        old: Rounds of the old code, in the order they were taken; a process start is its side of a pair.
        new: Rounds of the new code.
        policy: Which IQR is the run's own.

    Raises:
        NotSamples: A side holds samples that are none.
    """
    ticks = [estimate(side, iqr=policy.iqr, anchor=False).tick for side in (old, new)]
    centres, widths = zip(*(_rounds(side) for side in (old, new)), strict=True)
    pairs = tuple(Pair(*both) for both in zip(*centres, strict=False))
    best = stats.median([min(pair.old) for pair in pairs])
    return Pairs(all=pairs, iqr=_iqr(pairs, widths), tick=max(ticks) / best, old=best)


def _rounds(side: Measurement) -> tuple[list[tuple[float, ...]], list[float]]:
    """Give the centres of each process start's rounds, and the relative widths of all rounds."""
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
    """Choose the run's own IQR: of iterations, or of paired differences, whichever drift and jumps spoil less."""
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

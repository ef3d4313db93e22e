"""Estimate a baseline: all saved runs of one metric together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from pytest_devperf import stats
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule import machine
from pytest_devperf.compare.rule.estimate import FEWEST_VALUES, Estimate, Values, estimate
from pytest_devperf.record.record import Measurement

ENOUGH_FOR_IQR = 5
"""Fewest saved runs for which the IQR of their centres is used instead of their range."""

IQR_TO_SPREAD = 1.5
"""Factor of that IQR, which makes it comparable to the range of three or four runs."""

MOST_LIFT = 0.015
"""Largest correction for a baseline whose best start was lucky, as a fraction. Larger differences are common to several
starts, usually because the machine changed during the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineEstimate(Values):
    """All runs of a baseline; `robust` is their common centre."""

    level: float | None
    """Median of its runs' lowest anchors."""
    disturbed: bool
    """Whether most rounds were interrupted in most of its runs."""
    starts: int
    """Largest number of process starts of a run."""
    judgeable: bool
    """Whether there are enough values for a verdict."""


def estimate_baseline(
    befores: Sequence[Measurement],
    planned: int | None,
    policy: Policy,
    *,
    starts: int | None = None,
    anchor: bool = True,
) -> BaselineEstimate:
    """Combine a metric's saved runs, each cut to its first rounds if fewer are planned now.

    Args:
        befores: The metric in every usable run, not empty.
        planned: Rounds planned for the candidate; None: no cut.
        policy: Determines which IQR is the run's own; with the literal rule, a run is used as it is.
        starts: Process starts planned for the candidate; None: at least as many as the baseline has.
        anchor: Whether to use the anchor.

    Raises:
        NotSamples: A run contains invalid samples.
    """
    return combine(
        [estimate(before, rounds=_cut(before, planned), iqr=policy.iqr, anchor=anchor) for before in befores],
        higher=befores[0].better == "higher",
        starts=starts if policy.rule == "proven" else None,
    )


def combine(estimates: Sequence[Estimate], *, higher: bool = False, starts: int | None = None) -> BaselineEstimate:
    """Combine the runs of a baseline.

    A single run is used as it is. With two runs, the better centre counts and their difference is the spread. With
    three or more, the median counts; the spread is their range, or from five on 1.5 times their IQR. The part of the
    spread that the anchor explains (slow days of the machine) is excluded. The spread widens the IQR. The floors of all
    runs are kept.

    Args:
        estimates: One per run, not empty.
        higher: Whether higher is better.
        starts: Process starts of the compared run: the best of a baseline's starts is corrected to this number of
            starts; None: not corrected.
    """
    count = len(estimates)
    anchored = all(one.anchors for one in estimates)
    floors = tuple(floor for one in estimates for floor in one.floors)
    anchors = tuple(anchor for one in estimates for anchor in one.anchors) if anchored else ()
    calm = machine.without(floors, anchors, machine.exponent((floors, anchors)).value) if anchored else ()
    places = accumulate((len(one.floors) for one in estimates), initial=0)
    own = [calm[start:end] for start, end in pairwise(places)] if anchored else [()] * count
    centres = [_as_of(one, calm_floors, starts) for one, calm_floors in zip(estimates, own, strict=True)]
    best = max(centres) if higher else min(centres)
    centre = stats.median(centres) if count >= FEWEST_VALUES else best
    spread = _spread(centres)
    if anchored and count > 1:
        lowest = [math.exp(min(each)) for each in own]
        spread = min(spread, _spread(lowest) * stats.median(centres) / stats.median(lowest))
    return BaselineEstimate(
        robust=centre,
        iqr=max(stats.median([one.iqr for one in estimates]), spread),
        floors=floors,
        anchors=anchors,
        levels=tuple(level for one in estimates for level in one.levels) if anchored else (),
        level=stats.median([min(one.levels) for one in estimates]) if anchored else None,
        disturbed=2 * sum(one.disturbed for one in estimates) > count,
        tick=max(one.tick for one in estimates),
        starts=max(len(one.floors) for one in estimates),
        judgeable=_judgeable(estimates),
    )


def _as_of(one: Estimate, calm: Sequence[float], starts: int | None) -> float:
    """Return the centre that a run would have with fewer process starts: the expected best of that many of its own.

    The best of twelve starts is lower than the best of six even if nothing changed. Only the part not explained by the
    anchor counts, and at most `MOST_LIFT`.

    Args:
        one: The run.
        calm: Logarithms of its floors without the part explained by the anchor; empty without an anchor.
        starts: The number of starts; None: all of its own.
    """
    if not one.iterations or starts is None or starts >= len(one.floors):
        return one.robust
    lift = _expected_least(one.floors, starts) / one.robust
    if calm:
        lift = min(lift, math.exp(_expected_least(calm, starts) - min(calm)))
    return one.robust * min(max(lift, 1.0), 1 + MOST_LIFT)


def _expected_least(values: Sequence[float], count: int) -> float:
    """Return the mean, over all choices of `count` values, of their minimum."""
    ranked = sorted(values)
    ways = math.comb(len(ranked), count)
    return math.fsum(value * math.comb(len(ranked) - 1 - place, count - 1) / ways for place, value in enumerate(ranked))


def _spread(centres: Sequence[float]) -> float:
    """Return the spread of the centres of saved runs: 1.5 times their IQR from five on, else their range."""
    if len(centres) >= ENOUGH_FOR_IQR:
        return IQR_TO_SPREAD * stats.iqr(centres)
    return max(centres) - min(centres)


def _judgeable(estimates: Sequence[Estimate]) -> bool:
    """Return whether this side has enough rounds or values for a verdict."""
    if not estimates[0].iterations:
        return sum(one.rounds for one in estimates) >= estimates[0].fewest
    return all(one.judgeable for one in estimates)


def _cut(before: Measurement, planned: int | None) -> int | None:
    """Return the number of rounds of a baseline that count: its first ones, if fewer are planned now."""
    own = before.planned_rounds or len(before.process)
    return planned if before.kind == "rounds" and planned and planned < own else None

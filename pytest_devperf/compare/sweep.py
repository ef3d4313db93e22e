"""Rank the configurations of a test: which differences are significant, and whether there is a winner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from pytest_devperf import stats
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.estimate import Estimate, NotSamples, estimate
from pytest_devperf.compare.rule.threshold import TICKS, tolerance_of
from pytest_devperf.metric import INFORMATIONAL, NS_PER_MS
from pytest_devperf.record.record import Measurement, Record

FAMILY_CHANCE = 0.01
"""Chance that any difference of a sweep is significant though there is none: 1 % for all pairs together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One configuration."""

    id: str
    metric: str
    unit: str
    robust: float
    """In `unit`."""
    iqr: float
    beyond_pct: float
    """Distance from the best, in percent of the best."""
    like: tuple[str, ...]
    """Ids of the configurations from which it does not differ beyond noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A group of configurations, the best first."""

    ranked: tuple[Ranked, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """Cases that were not measured, with the reason."""

    @property
    def winner(self) -> str | None:
        """Id of the best one if it differs from every other beyond noise, else None."""
        if len(self.ranked) < 2 or self.ranked[0].like:  # noqa: PLR2004 - a winner needs a competitor
            return None
        return self.ranked[0].id


@dataclass(frozen=True, slots=True)
class _Entrant:
    record: Record
    metric: Measurement
    found: Estimate


def rank(records: Sequence[Record], policy: Policy | None = None) -> Sweep:
    """Rank the configurations of a sweep by their main metric.

    Two configurations differ if the distance of their values exceeds the tolerance of a comparison with a saved run
    (the larger IQR, the tolerance, two ticks), and a pooled two-sided t-test over the best rounds of their process
    starts is significant; its level is distributed over all pairs with Holm's method.

    Args:
        records: The cases of one sweep, measured in one session.
        policy: Its tolerances; None: the defaults.

    Source:
        Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979.
    """
    policy = policy or Policy()
    entrants, left_out = _entrants(records, policy)
    higher = bool(entrants) and entrants[0].metric.better == "higher"
    entrants.sort(key=lambda each: -each.found.robust if higher else each.found.robust)
    apart = _apart(entrants, policy)
    best = entrants[0].found.robust if entrants else 1.0
    return Sweep(
        ranked=tuple(
            Ranked(
                id=each.record.id,
                metric=each.metric.name,
                unit=each.metric.unit,
                robust=each.found.robust * _scale(each.metric),
                iqr=each.found.iqr * _scale(each.metric),
                beyond_pct=100 * abs(each.found.robust - best) / abs(best),
                like=tuple(
                    other.record.id
                    for there, other in enumerate(entrants)
                    if there != place and frozenset((place, there)) not in apart
                ),
            )
            for place, each in enumerate(entrants)
        ),
        left_out=tuple(left_out),
    )


def _entrants(records: Sequence[Record], policy: Policy) -> tuple[list[_Entrant], list[tuple[str, str]]]:
    """Separate the cases measured by the same metric from the others."""
    entrants: list[_Entrant] = []
    left_out: list[tuple[str, str]] = []
    for record in records:
        metric = _main(record)
        if record.outcome != "passed" or metric is None:
            left_out.append((record.id, record.reason or "nothing was measured"))
        elif entrants and metric.name != entrants[0].metric.name:
            left_out.append((record.id, f"its metric is {metric.name}, not {entrants[0].metric.name}"))
        else:
            try:
                entrants.append(_Entrant(record, metric, estimate(metric, iqr=policy.iqr, anchor=False)))
            except NotSamples as problem:
                left_out.append((record.id, str(problem)))
    return entrants, left_out


def _main(record: Record) -> Measurement | None:
    held = [each for each in record.metrics if each.name not in INFORMATIONAL and each.robust]
    return next((each for each in held if each.main), held[0] if held else None)


def _apart(entrants: Sequence[_Entrant], policy: Policy) -> set[frozenset[int]]:
    """Return the pairs that differ beyond noise."""
    chances = {
        frozenset(pair): _chance(entrants[pair[0]], entrants[pair[1]]) for pair in combinations(range(len(entrants)), 2)
    }
    apart = set()
    for step, (pair, chance) in enumerate(sorted(chances.items(), key=lambda item: item[1])):
        if chance > FAMILY_CHANCE / (len(chances) - step):
            break  # Holm's method stops at the first pair that is not significant
        one, other = (entrants[place] for place in pair)
        if abs(one.found.robust - other.found.robust) > _bound(one, other, policy):
            apart.add(pair)
    return apart


def _chance(one: _Entrant, other: _Entrant) -> float:
    """Return the two-sided p-value that two configurations' process starts are alike; 1 if it cannot be computed."""
    sides = [one.found.floors, other.found.floors]
    if all(min(side, default=0) > 0 for side in sides):
        sides = [tuple(map(math.log, side)) for side in sides]
    ways = [stats.pooled_t_p(sides[0], sides[1]), stats.pooled_t_p(sides[1], sides[0])]
    return min(1.0, 2 * min([way for way in ways if way is not None], default=1.0))


def _bound(one: _Entrant, other: _Entrant, policy: Policy) -> float:
    best = min(abs(one.found.robust), abs(other.found.robust))
    return max(
        one.found.iqr,
        other.found.iqr,
        tolerance_of(one.metric, policy) * best,
        TICKS * max(one.found.tick, other.found.tick),
    )


def _scale(metric: Measurement) -> float:
    return 1 / NS_PER_MS if metric.samples_ns is not None else 1.0

"""Old and new code in turns on one machine: the comparison that needs no saved run.

Rounds of both alternate within a pair of process starts, so that what drifts touches both alike. Neither
confirmation, anchor nor early pass apply.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from pytest_devperf import stats
from pytest_devperf.compare.estimate import FEWEST_ROUNDS, NotSamples, estimate
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.threshold import tolerance_of
from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.record.record import Change, Measurement, Verdict

PAIRS = 6
"""Pairs of process starts: where starts differ by 3 %, three gave 5.8 % false alarms and six 1.2 %."""

ROUNDS_EACH = 4
"""Rounds of each code in a pair of starts."""

TURNS = ("ABBABAAB", "BAABABBA")
"""Order of the rounds of even and odd pairs, A the old code: a steady drift cancels within each four."""

CORES_APART = 1.25
"""Beyond this ratio both sides of a pair ran on cores of different kinds: those are 1.3 to 4 times apart, and
neither layout nor hash seed nor heat makes a quarter.
"""

SHORTAGE = "too few pairs of rounds to judge by: measure more (--devperf-rounds)"
"""Why a verdict is open if there are fewer than `FEWEST_ROUNDS` pairs."""

FEWEST_PAIRS = 3
"""Pairs without which nothing is set aside: quartiles of fewer say little of how starts differ."""


def turns(pair: int) -> str:
    """Give the order of the rounds of a pair of process starts; `A` is the old code, `B` the new.

    >>> turns(0), turns(1)
    ('ABBABAAB', 'BAABABBA')
    """
    return TURNS[pair % 2]


def differences(old_rows: Sequence[Sequence[float]], new_rows: Sequence[Sequence[float]]) -> list[float]:
    """Give the relative difference of each adjacent pair of rounds.

    In the order of `turns`, the k-th round of the old code stands next to the k-th of the new.

    Args:
        old_rows: (rounds, iterations) of the old code, in the order they were taken.
        new_rows: The same of the new code.
    """
    return [stats.median(new) / stats.median(old) - 1 for old, new in zip(old_rows, new_rows, strict=False)]


def alike(found: Sequence[float], process: Sequence[int]) -> list[float]:
    """Leave out the differences of pairs whose sides landed on cores of different kinds.

    What is left lies around the pair that differs least. So of two explanations of a large difference, slower
    code in some pairs or a slower core, the one that fails no test is taken. Where even that pair differs by as
    much as cores do, nothing tells the two apart and nothing is left out.

    Args:
        found: Relative differences, as `differences` gives them.
        process: The pair of process starts of each.

    Returns:
        The differences that are left; all of them where less than `FEWEST_PAIRS` pairs would be, or where every
        pair differs by more than `CORES_APART`.

    >>> alike([0.02, 0.03, 0.7, 0.01], [0, 1, 2, 3])
    [0.02, 0.03, 0.01]
    """
    pairs: defaultdict[int, list[float]] = defaultdict(list)
    for difference, start in zip(found, process, strict=False):
        pairs[start].append(difference)
    centres = {start: math.log1p(stats.median(each)) for start, each in pairs.items()}
    nearest = min(centres.values(), key=abs, default=0.0)
    apart = math.log(CORES_APART)
    kept = {start for start, centre in centres.items() if abs(centre - nearest) <= apart}
    if len(kept) < FEWEST_PAIRS or abs(nearest) > apart:
        return list(found)
    return [difference for difference, start in zip(found, process, strict=False) if start in kept]


def judge_paired(old: Measurement, new: Measurement, policy: Policy) -> Change:
    """Judge a metric by its paired rounds.

    Regressed iff the Hodges-Lehmann estimate of the differences exceeds both their interquartile range and
    the tolerance. Pairs on cores of different kinds are set aside (`alike`), which the reason says.

    Args:
        old: Rounds of the old code, in the order they were taken.
        new: Rounds of the new code.
        policy: Its tolerances.

    Returns:
        A change whose baseline is the median of the old round medians, and whose delta is the estimate.
    """
    try:
        centre = stats.median(stats.centres_and_widths(old.samples_ns or ())[0]) if estimate(old).rounds else 0.0
        estimate(new)
    except NotSamples as refusal:
        return Change(metric=new.name, verdict="incomparable", unit=new.unit, better=new.better, reason=str(refusal))
    every = differences(old.samples_ns or (), new.samples_ns or ())
    found = alike(every, new.process)
    shift, spread, tolerance = stats.hodges_lehmann(found), stats.iqr(found), tolerance_of(new, policy)
    bound = max(spread, tolerance)
    verdict: Verdict = "within_noise"
    if len(found) < FEWEST_ROUNDS:
        verdict = "inconclusive"
    elif abs(shift) > bound:
        verdict = "regressed" if shift > 0 else "improved"
    scale = centre / NS_PER_MS
    return Change(
        metric=new.name,
        verdict=verdict,
        unit=new.unit,
        better=new.better,
        baseline=scale,
        candidate=scale * (1 + shift),
        delta=scale * shift,
        delta_pct=100 * shift,
        decided_by="iqr" if spread >= tolerance else "tolerance",
        threshold=scale * bound,
        iqr_baseline=scale * spread,
        iqr_candidate=scale * spread,
        detectable_pct=100 * bound,
        reason=SHORTAGE if verdict == "inconclusive" else _set_aside(every, found),
    )


def _set_aside(every: Sequence[float], found: Sequence[float]) -> str | None:
    """Say how much was set aside; None where nothing was."""
    if len(found) == len(every):
        return None
    return (
        f"{len(every) - len(found)} of {len(every)} pairs of rounds set aside, because their sides differ by more than "
        "a quarter from the other pairs, as on cores of different kinds"
    )

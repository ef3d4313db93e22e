"""Compare old and new code measured in turns on one machine, without a saved run.

Rounds of both alternate within a pair of process starts, so that drift affects both alike. There is no
confirmation, anchor or early pass.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from pytest_devperf import stats
from pytest_devperf.compare.estimate import FEWEST_ROUNDS, NotSamples, estimate
from pytest_devperf.compare.pairs import CORES_APART, FEWEST_PAIRS, describe_set_aside
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.threshold import tolerance_of
from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.record.record import Change, Measurement, Verdict

PAIRS = 6
"""Pairs of process starts: if starts differ by 3 %, three gave 5.8 % false alarms and six 1.2 %."""

ROUNDS_EACH = 4
"""Rounds of each code in a pair of starts."""

TURNS = ("ABBABAAB", "BAABABBA")
"""Order of the rounds in even and odd pairs, A is the old code: a steady drift cancels within each four."""

SHORTAGE = "too few pairs of rounds to judge by: measure more (--devperf-rounds)"
"""Why there is no verdict with fewer than `FEWEST_ROUNDS` pairs."""


def turns(pair: int) -> str:
    """Return the order of the rounds in a pair of process starts; `A` is the old code, `B` the new.

    >>> turns(0), turns(1)
    ('ABBABAAB', 'BAABABBA')
    """
    return TURNS[pair % 2]


def differences(old_rows: Sequence[Sequence[float]], new_rows: Sequence[Sequence[float]]) -> list[float]:
    """Return the relative difference of each adjacent pair of rounds.

    In the order of `turns`, rounds of the old and the new code with equal indices are adjacent.

    Args:
        old_rows: (rounds, iterations) of the old code, in order.
        new_rows: The same of the new code.
    """
    return [stats.median(new) / stats.median(old) - 1 for old, new in zip(old_rows, new_rows, strict=False)]


def alike(found: Sequence[float], process: Sequence[int]) -> list[float]:
    """Exclude the differences of pairs whose sides ran on different kinds of cores.

    The remaining pairs are close to the one with the smallest difference. A large difference may be due to slower
    code in some pairs or to a slower core; the rule assumes the explanation that fails no test. If even that pair
    differs by as much as cores do, the two cannot be distinguished, and nothing is excluded.

    Args:
        found: Relative differences, as returned by `differences`.
        process: The pair of process starts of each.

    Returns:
        The remaining differences; all of them if fewer than `FEWEST_PAIRS` pairs would remain, or if every
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

    A metric regressed iff the Hodges-Lehmann estimate of the differences exceeds both their interquartile range and
    the tolerance. Pairs on different kinds of cores are excluded (`alike`), and the reason reports it.

    Args:
        old: Rounds of the old code, in order.
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
        reason=SHORTAGE if verdict == "inconclusive" else describe_set_aside(len(found), len(every), "rounds"),
    )

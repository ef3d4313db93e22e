"""Compare old and new code measured in turns on one machine, without a saved run.

Rounds of both alternate within a pair of process starts, so that drift affects both alike. There is no confirmation,
anchor or early pass. The comparison is sequential: it looks at the result after a few pairs, and measures more pairs
until the change is proven or refuted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace as with_fields

from pytest_devperf import stats
from pytest_devperf.compare.in_turns.pairs import FEWEST_PAIRS, Pairs, describe_set_aside, pairs_of
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.estimate import NotSamples
from pytest_devperf.compare.rule.threshold import Bound, tolerance_of, widest
from pytest_devperf.compare.words import could_not_find
from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.record.record import Change, Measurement, Verdict

LOOKS: Mapping[int, float] = {3: 0, 4: 0.04, 6: 0.08, 9: 0.10, 12: 0.16, 16: 0.20, 20: 0.20, 24: 0.20}
"""Numbers of pairs after which a case is judged, and the share of its chance of a false alarm that each look may use.

Nothing is reported as slower after three pairs: if layouts have a few modes, three equally unlucky pairs in a row
have no spread at all.
"""

MANY_LOOKS: Mapping[int, float] = {
    3: 0,
    4: 0.04,
    6: 0.08,
    9: 0.10,
    12: 0.12,
    16: 0.12,
    20: 0.14,
    24: 0.14,
    30: 0.12,
    36: 0.12,
}
"""The same if more than `MANY` metrics are judged together: each must be clearer, which takes more pairs."""

MANY = 8

USUAL_PAIRS = 9
"""Pairs that must fit into the budget with the planned iterations, and the number of pairs if no look is possible in
between (`devperf.paired`): unchanged code needs no more."""

ALONE = 0.005
"""Chance of a false alarm of a single metric over all its looks, if it is judged alone."""

TOGETHER = 0.04
"""Chance of any false alarm of all metrics that are judged together."""

TESTS = 2
"""Number of tests that share the level of a look."""

PASS_CHANCE = 0.05
"""Chance that a change beyond the tolerance is reported as within noise at a look: 95 % confidence ends a case."""

MOST_TOLERATED = 0.03
"""Tolerated change beyond which no case ends early because of a wide IQR: more pairs may narrow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPairs:
    """The result of one metric."""

    change: Change
    pairs: int
    """Number of pairs so far."""
    next_look: int | None = None
    """Number of pairs after which to look again, since nothing is decided yet; None: the verdict is final."""
    blind: bool = False
    """Whether no change worth the name could have been found."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """Estimates from the pairs so far."""

    shift: float
    """Logarithm of new over old: the Hodges-Lehmann estimate."""
    error: float
    """Standard error of the trimmed mean."""
    freedom: int
    """Its degrees of freedom; 0 if there are too few pairs to estimate a spread."""
    slower: float
    """Probability of such differences above zero if nothing had changed: twice the lower p-value of both tests."""
    faster: float
    """The same below zero."""

    def surely_below(self, bound: float) -> bool:
        """Return whether the change is below a bound with the confidence that ends a case."""
        if self.freedom < 1:
            return False
        return self.shift + stats.student_critical(PASS_CHANCE, self.freedom) * self.error < math.log1p(bound)

    def least(self, level: float) -> float:
        """Estimate the smallest change that the t-test proves with this many pairs, as a fraction."""
        if self.freedom < 1 or level <= 0:
            return math.inf
        return stats.as_fraction(stats.student_critical(level / TESTS, self.freedom) * self.error)


def looks_of(metrics: int, most: int | None = None) -> dict[int, float]:
    """Return the numbers of pairs after which to judge a case, and the share of each look.

    Args:
        metrics: Number of metrics judged together.
        most: Maximum number of pairs, given by the user or the budget: the last look uses the remaining share.
    """
    looks = LOOKS if metrics <= MANY else MANY_LOOKS
    if most is None or most >= max(looks):
        return dict(looks)
    kept = {pairs: share for pairs, share in looks.items() if pairs < most}
    return {**kept, most: 1 - sum(kept.values()) if most > FEWEST_PAIRS else 0}


def level_of(metrics: int) -> float:
    """Return the chance of a false alarm over all looks for one of this many metrics."""
    return min(ALONE, TOGETHER / max(metrics, 1))


def judge_pairs(old: Measurement, new: Measurement, policy: Policy, *, most: int | None = None) -> JudgedPairs:
    """Judge a metric by the pairs so far, and decide when to look again.

    A metric regressed if the Hodges-Lehmann estimate of the differences exceeds the threshold, and a trimmed t-test or
    the exact signed-rank test finds them above zero at half the level of this look. It is within noise if the change is
    below the threshold with 95 % confidence. Pairs on different kinds of cores are excluded.

    Args:
        old: Rounds of the old code, in order; a process start is its side of a pair.
        new: Rounds of the new code.
        policy: Its tolerances, and the number of metrics judged together.
        most: Maximum number of pairs; None: the rule's own maximum.
    """
    try:
        pairs = pairs_of(old, new, policy)
    except NotSamples as refusal:
        change = Change(metric=new.name, verdict="incomparable", unit=new.unit, better=new.better, reason=str(refusal))
        return JudgedPairs(change=change, pairs=0)
    count, looks = len(pairs.all), looks_of(policy.metrics, most)
    alpha = level_of(policy.metrics)
    seen, bound = _seen(pairs), widest(pairs.iqr, tolerance_of(new, policy), pairs.tick)
    level = alpha * looks.get(count, 0.0)
    verdict = _decided(seen, bound.value, level=level, alpha=alpha) if count in looks else None
    further = next((look for look in looks if look > count), None) if verdict is None else None
    hidden = max(pairs.iqr, seen.least(alpha * looks[max(looks)]))
    reason, blind = describe_set_aside(len(pairs.kept), count, "process starts"), False
    if verdict is None:
        verdict = "suspect" if math.expm1(seen.shift) > bound.value else "within_noise"
        if len(pairs.kept) < FEWEST_PAIRS:
            verdict, reason = "inconclusive", "too few pairs of process starts to judge by"
        elif hidden > max(policy.blind, tolerance_of(new, policy)):
            verdict, reason, blind = "inconclusive", could_not_find(hidden), True
    change = _change(new, pairs, seen, bound, verdict)
    return JudgedPairs(
        change=with_fields(change, detectable_pct=_percent(max(bound.value, hidden)), level=level, reason=reason),
        pairs=count,
        next_look=further,
        blind=blind,
    )


def _decided(seen: _Seen, bound: float, *, level: float, alpha: float) -> Verdict | None:
    """Apply the rule at one look; return None if nothing is proven yet."""
    if math.expm1(seen.shift) > bound and seen.slower < level:
        return "regressed"
    if not seen.surely_below(min(bound, MOST_TOLERATED)):
        return None
    # No further pairs are measured for code that became faster: the current result is reported.
    return "improved" if -math.expm1(seen.shift) > bound and seen.faster < alpha else "within_noise"


def _seen(pairs: Pairs) -> _Seen:
    """Estimate the change from the pairs that are kept."""
    differences = [pair.difference for pair in pairs.kept]
    shift = stats.hodges_lehmann(differences)
    if len(differences) < FEWEST_PAIRS:
        return _Seen(shift=shift, error=math.inf, freedom=0, slower=1.0, faster=1.0)
    mean, error, freedom = stats.trimmed_t(differences)
    slower, faster = (
        min(1.0, TESTS * min(stats.chance_above(sign * mean, error, freedom), stats.signed_rank_p(signed)))
        for sign, signed in ((1, differences), (-1, [-each for each in differences]))
    )
    return _Seen(shift=shift, error=error, freedom=freedom, slower=slower, faster=faster)


def _change(new: Measurement, pairs: Pairs, seen: _Seen, bound: Bound, verdict: Verdict) -> Change:
    """Return the numbers of the change: the baseline is the old code's best rounds, the delta the estimated shift."""
    scale, shift = pairs.old / NS_PER_MS, math.expm1(seen.shift)
    return Change(
        metric=new.name,
        verdict=verdict,
        unit=new.unit,
        better=new.better,
        baseline=scale,
        candidate=scale * (1 + shift),
        delta=scale * shift,
        delta_pct=100 * shift,
        decided_by=bound.decided_by,
        threshold=scale * bound.value,
        iqr_baseline=scale * pairs.iqr,
        iqr_candidate=scale * pairs.iqr,
        p=seen.slower,
        pairs=len(pairs.all),
        stopped_by="starts" if verdict == "suspect" else None,
    )


def _percent(fraction: float) -> float | None:
    return 100 * fraction if math.isfinite(fraction) else None

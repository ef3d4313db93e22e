"""Judge all metrics of a case whose old and new code were measured in turns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pytest_devperf.compare.change import lost, unjudged
from pytest_devperf.compare.compare import QUIET, worst
from pytest_devperf.compare.in_turns.metric import judge_pairs
from pytest_devperf.compare.in_turns.pairs import ROUNDS, pairs_of, rounds_of_next
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.estimate import NotSamples
from pytest_devperf.compare.rule.verdict import judge
from pytest_devperf.metric import INFORMATIONAL
from pytest_devperf.record.record import Change, Measurement, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class InTurnsSoFar:
    """The result of a case after some pairs."""

    changes: tuple[Change, ...]
    pairs: int
    """Number of pairs so far."""
    next_look: int | None
    """Number of pairs after which to look again; None: every metric is decided."""
    rounds: int
    """Rounds of each code in the next pair."""
    blind: bool = False
    """Whether no change worth the name could have been found in one of its metrics."""

    @property
    def verdict(self) -> Verdict:
        """That of its worst metric, but never a quiet verdict if it was blind."""
        verdict = worst([change.verdict for change in self.changes]) if self.changes else "inconclusive"
        return "inconclusive" if verdict in QUIET and self.blind else verdict


def judge_in_turns(
    new: Iterable[Measurement], old: Iterable[Measurement], policy: Policy, *, most: int | None = None
) -> InTurnsSoFar:
    """Judge every metric of a case from the pairs so far.

    Args:
        new: Metrics of the new code; a process start is its side of a pair.
        old: Metrics of the old code.
        policy: The policy of the comparison.
        most: Maximum number of pairs; None: the rule's own maximum.
    """
    before = {each.name: each for each in old if each.name not in INFORMATIONAL}
    changes: list[Change] = []
    looks: list[int] = []
    counts, rounds, blind = [0], [1], False
    for metric in new:
        if metric.name in INFORMATIONAL:
            continue
        was = before.pop(metric.name, None)
        if was is not None and metric.kind == "rounds":
            found = judge_pairs(was, metric, policy, most=most)
            changes.append(found.change)
            counts.append(found.pairs)
            blind |= found.blind
            if found.next_look is not None:
                looks.append(found.next_look)
                rounds.append(_rounds_of_next(was, metric, policy))
        else:
            changes.append(judged_once(metric, was, policy))
    changes += map(only_old, before.values())
    return InTurnsSoFar(
        changes=tuple(changes),
        pairs=max(counts),
        next_look=min(looks, default=None),
        rounds=max(rounds) if looks else ROUNDS,
        blind=blind,
    )


def _rounds_of_next(old: Measurement, new: Measurement, policy: Policy) -> int:
    try:
        return rounds_of_next(pairs_of(old, new, policy).all)
    except NotSamples:
        return ROUNDS


def judged_once(new: Measurement, old: Measurement | None, policy: Policy) -> Change:
    """Judge values of process starts, which are not measured in turns, by the usual rule and without a second look."""
    if old is None:
        return unjudged(new, "the old code does not have this metric", verdict="new")
    return judge(new, [old], replace(policy, confirm=False, anchor=False), same_anchor=False).change


def only_old(old: Measurement) -> Change:
    """Return the change of a metric that the new code does not have."""
    return lost(old, "the old code has this metric, the new does not")

"""Count the results of all comparisons of a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_devperf.compare.policy import Policy
from pytest_devperf.record.record import Comparison, Verdict

FALSE_ALARMS = {"proven": 0.002, "no-confirm": 0.002, "no-anchor": 0.028, "iqr": 0.155}
"""Expected share of unchanged metrics that each rule reports as regressed.

Means over virtual devices (see `benchmarks/`): the default rule with one saved run, without a confirmation, without
an anchor, and the literal rule.
"""

JUDGED: frozenset[Verdict] = frozenset({"regressed", "improved", "within_noise", "suspect"})
"""Verdicts for which a delta was judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts over the cases of a session."""

    verdicts: Mapping[Verdict, int]
    """Number of cases by verdict, without zeros."""
    cases: int
    metrics: int
    """Number of metrics that were judged."""
    expected_false_alarms: float
    """Expected number of regressions among them if nothing had changed."""

    @property
    def compared(self) -> int:
        """Number of cases for which a delta was judged."""
        return sum(count for verdict, count in self.verdicts.items() if verdict in JUDGED)


def tally(comparisons: Iterable[Comparison], policy: Policy) -> Tally:
    """Count the results of a session's cases.

    Args:
        comparisons: One per case.
        policy: The policy of the comparison, which determines the rate of false alarms.
    """
    known = list(comparisons)
    metrics = sum(change.verdict in JUDGED for each in known for change in each.changes)
    return Tally(
        verdicts=Counter(each.verdict for each in known),
        cases=len(known),
        metrics=metrics,
        expected_false_alarms=metrics * false_alarm_rate(policy),
    )


def false_alarm_rate(policy: Policy) -> float:
    """Return the expected share of unchanged metrics that a policy reports as regressed."""
    if policy.rule == "iqr":
        return FALSE_ALARMS["iqr"]
    if not policy.confirm:
        return FALSE_ALARMS["no-confirm"]
    return FALSE_ALARMS["proven" if policy.anchor else "no-anchor"]

"""Decide what a case needs next: a verdict, or more process starts, and of which kind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_devperf.case.plan import Plan, rounds_of_first_look, rounds_of_start
from pytest_devperf.compare.compare import Reached, compare_so_far
from pytest_devperf.compare.history import Baseline
from pytest_devperf.compare.in_turns.case import InTurnsSoFar
from pytest_devperf.compare.in_turns.pairs import ROUNDS
from pytest_devperf.compare.looks import Further
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.stopping.saving import blind_when_saved, more_to_save
from pytest_devperf.record.record import Comparison, Record

Role = Literal["first", "confirming", "more", "saving", "pair"]
"""Purpose of process starts: a first look, a second look at a suspect, further looks at it, a better baseline, or a
pair of the old code and the new."""

FIRST_TO_SETTLE = 2
"""Fewest process starts after which the machine may explain a suspect: the anchors of a single start mean little."""

REASONS: Mapping[Role, str] = {
    "first": "its first look is not over",
    "confirming": "a second look has to find the change again, or to see more than the first",
    "more": "its process starts do not prove the change yet",
    "saving": "its process starts differ by more than a baseline may",
    "pair": "its pairs of process starts decide nothing yet",
}
"""Why more starts are needed, as a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreStarts:
    """The case needs more process starts."""

    role: Role
    rounds: tuple[int, ...]
    """Rounds of each start, in order; for a pair, rounds of each code. A first look may end after any of them; other
    looks are judged when all starts have ended or a metric has passed early."""

    @property
    def reason(self) -> str:
        """The reason, as a clause."""
        return REASONS[self.role]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict is final; no later measurement changes it."""

    comparison: Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """The run can be saved without further measurements."""

    blind: Mapping[str, float] = field(default_factory=dict)
    """Metrics for which no comparison could detect a change of `policy.blind` -> the smallest detectable change."""


def next_of_comparison(
    record: Record | None,
    baseline: Baseline,
    policy: Policy,
    plan: Plan,
    *,
    measured_once: Collection[str] = (),
) -> Judged | MoreStarts:
    """Decide what a case needs next if it is compared with saved runs.

    The first look spreads its rounds over `plan.processes` starts; unchanged code passes in the first of them. A
    suspect is measured again, and if the change is found again, in more starts until it is proven or refuted.

    Args:
        record: The measurements so far, with all later starts as its confirmation; None: nothing yet.
        baseline: The baseline of the case.
        policy: The policy of the comparison.
        plan: Rounds and process starts of the first look.
        measured_once: Metrics that no later start measures again.
    """
    if record is None:
        return MoreStarts(role="first", rounds=_first_look(plan.rounds, plan.processes, 0))
    done = starts_of(record)
    reached = compare_so_far(record, baseline, policy, measured_once=measured_once)
    left = _first_look(_total_rounds(record, plan), plan.processes, done) if done else ()
    settled = reached.settled and (_has_passed(record) or done >= FIRST_TO_SETTLE)
    if left and record.outcome == "passed" and not settled and not _looked_again(record):
        return MoreStarts(role="first", rounds=left)
    return _beyond_first_look(reached)


def next_of_saving(record: Record | None, policy: Policy, plan: Plan) -> Saved | MoreStarts:
    """Decide what a case needs next if it is saved: more process starts as long as they differ too much for a baseline.

    Args:
        record: The measurements so far; None: nothing yet.
        policy: Its tolerances, and the change that a comparison must be able to detect.
        plan: Rounds and process starts of a saved run.
    """
    if record is not None and record.outcome != "passed":
        return Saved()
    done = 0 if record is None else starts_of(record)
    total = plan.rounds if record is None else _total_rounds(record, plan)
    rounds = (rounds_of_start(total, plan.processes, process) for process in range(done, plan.processes))
    left = tuple(each for each in rounds if each)
    if record is None or (left and done):
        return MoreStarts(role="saving", rounds=left)
    further = more_to_save(record, policy)
    if further is None:
        return Saved(blind=blind_when_saved(record, policy))
    return MoreStarts(role="saving", rounds=_rounds(further))


def next_in_turns(so_far: InTurnsSoFar | None) -> MoreStarts | None:
    """Decide how many pairs of process starts a case measured in turns needs next; None if it is decided.

    The first pair determines how many rounds the others need.

    Args:
        so_far: The result of its pairs so far; None: no pairs yet.
    """
    if so_far is None:
        return MoreStarts(role="pair", rounds=(ROUNDS,))
    if so_far.next_look is None:
        return None
    return MoreStarts(role="pair", rounds=(so_far.rounds,) * (so_far.next_look - so_far.pairs))


def starts_of(record: Record) -> int:
    """Count the process starts of a record's rounds."""
    return max((len(set(each.process)) for each in record.metrics if each.kind == "rounds"), default=0)


def _beyond_first_look(reached: Reached) -> Judged | MoreStarts:
    if reached.further is None:
        return Judged(comparison=reached.comparison)
    return MoreStarts(role="confirming" if reached.comparison.awaiting else "more", rounds=_rounds(reached.further))


def _first_look(rounds: int, processes: int, done: int) -> tuple[int, ...]:
    each = (rounds_of_first_look(rounds, processes, process) for process in range(done, processes))
    return tuple(share for share in each if share > 0)


def _rounds(further: Further) -> tuple[int, ...]:
    return (further.rounds,) * further.starts


def _total_rounds(record: Record, plan: Plan) -> int:
    """Return the rounds that fit into the budget, as determined by start 1."""
    planned = [each.planned_rounds for each in record.metrics if each.kind == "rounds" and each.planned_rounds]
    return min(planned, default=plan.rounds)


def _looked_again(record: Record) -> bool:
    return any(each.confirmation is not None for each in record.metrics)


def _has_passed(record: Record) -> bool:
    return all(each.stop == "early-pass" for each in record.metrics if each.kind == "rounds")

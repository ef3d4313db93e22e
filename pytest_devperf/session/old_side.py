"""The old side of a case measured in turns: add it to the new one, and compare both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace as with_fields

from pytest_devperf.compare.against import judge_in_turns, judged_once, only_old
from pytest_devperf.compare.compare import worst
from pytest_devperf.compare.paired import judge_paired
from pytest_devperf.metric import TOLD_ONLY
from pytest_devperf.record.record import Change, Comparison, Confirmation, Measurement, Record
from pytest_devperf.session.assemble import measurements_of
from pytest_devperf.session.starts.start import CaseStart

if TYPE_CHECKING:
    from pytest_devperf.compare.policy import Policy


def with_old_side(record: Record, olds: Sequence[CaseStart]) -> Record:
    """Add the raw samples of the old side to those of the new one."""
    known = {each.name: each for each in measurements_of(olds)}
    metrics = tuple(
        with_fields(each, against=_raw(known[each.name])) if each.name in known else each for each in record.metrics
    )
    return with_fields(record, metrics=metrics)


def _raw(measurement: Measurement) -> Confirmation:
    return Confirmation(
        process=measurement.process,
        samples_ns=measurement.samples_ns,
        samples=measurement.samples,
        ran_ns=measurement.ran_ns,
    )


def compare_sides(
    record: Record,
    olds: Sequence[CaseStart],
    policy: Policy,
    *,
    reason: str | None,
    note: str | None = None,
    most: int | None = None,
) -> Comparison:
    """Compare both sides of a case, metric by metric.

    Args:
        record: The new side.
        olds: The old side's process starts.
        policy: What the comparison is strict about.
        reason: Why there is nothing to compare with; None where there is.
        note: What is told of the old side.
        most: Pairs of process starts at most, if each was taken because those before had decided nothing; None: all
            were taken at once.
    """
    notes = (note,) if note else ()
    if record.outcome != "passed":
        return Comparison(verdict="skipped", reason=record.reason)
    if reason is not None and olds:
        return Comparison(verdict="incomparable", reason=reason, notes=notes)
    if reason is not None:
        # Why a case is new is told as a difference: of an ordinary new case there is nothing to tell.
        return Comparison(verdict="new", reason=reason, notes=(*notes, reason))
    if most is not None:
        in_turns = judge_in_turns(record.metrics, measurements_of(olds), policy, most=most)
        return Comparison(verdict=in_turns.verdict, changes=in_turns.changes, notes=notes)
    before = {each.name: each for each in measurements_of(olds)}
    changes = [
        _judged(each, before.pop(each.name, None), policy) for each in record.metrics if each.name not in TOLD_ONLY
    ]
    changes += [only_old(each) for each in before.values() if each.name not in TOLD_ONLY]
    verdict = worst([change.verdict for change in changes]) if changes else "inconclusive"
    return Comparison(verdict=verdict, changes=tuple(changes), notes=notes)


def _judged(new: Measurement, old: Measurement | None, policy: Policy) -> Change:
    if old is not None and new.kind == "rounds":
        return judge_paired(old, new, policy)
    return judged_once(new, old, policy)


def olds_of(starts: Sequence[CaseStart]) -> list[CaseStart]:
    """Return the old sides of starts in which a test itself measured in turns, as separate starts."""
    return [CaseStart(process=start.process, role=start.role, timed=list(start.olds)) for start in starts if start.olds]


def compare_paired(record: Record, starts: Sequence[CaseStart], policy: Policy) -> Comparison:
    """Compare what a test measured in turns; its other metrics have nothing to be compared with."""
    shown = tuple(metric for metric in record.metrics if metric.against is not None)
    return compare_sides(with_fields(record, metrics=shown), olds_of(starts), policy, reason=None)

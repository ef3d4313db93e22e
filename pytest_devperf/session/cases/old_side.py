"""The old side of a case measured in turns: add it to the new one, and compare both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace as with_fields

from pytest_devperf.compare.in_turns.case import judge_in_turns
from pytest_devperf.record.record import Comparison, Confirmation, Measurement, Record
from pytest_devperf.session.cases.measurements import measurements_of
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
    most: int,
    reason: str | None = None,
    note: str | None = None,
) -> Comparison:
    """Compare both sides of a case, metric by metric.

    Args:
        record: The new side.
        olds: The old side's process starts.
        policy: The rules of the comparison.
        most: Maximum number of pairs of process starts.
        reason: Why there is nothing to compare with; None if there is.
        note: A note about the old side.
    """
    notes = (note,) if note else ()
    if record.outcome != "passed":
        return Comparison(verdict="skipped", reason=record.reason)
    if reason is not None and olds:
        return Comparison(verdict="incomparable", reason=reason, notes=notes)
    if reason is not None:
        # The reason why a case is new is shown as a difference; an ordinary new case needs none.
        return Comparison(verdict="new", reason=reason, notes=(*notes, reason))
    in_turns = judge_in_turns(record.metrics, measurements_of(olds), policy, most=most)
    return Comparison(verdict=in_turns.verdict, changes=in_turns.changes, notes=notes)

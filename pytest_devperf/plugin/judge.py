"""From what a case's starts found to its record, its verdict, and the outcome of its test."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from pytest_devperf.errors import DevperfError
from pytest_devperf.plugin.assemble import record_of
from pytest_devperf.plugin.outcome import call_report, fail
from pytest_devperf.report.detail import failure_text

if TYPE_CHECKING:
    import pytest

    from pytest_devperf.plugin.chosen import Options
    from pytest_devperf.plugin.ledger import Entry
    from pytest_devperf.record.record import Comparison, Record


def in_turns(entry: Entry) -> bool:
    """Whether the test itself measured something against something else, in turns."""
    return any(start.olds for start in entry.starts)


def make_record(entry: Entry, options: Options) -> Record:
    """Put a case's starts together; a case fails whose starts contradict one another."""
    try:
        record = record_of(entry, busy_cpu_percent=options.busy_cpu_percent)
    except DevperfError as error:
        fail(entry, error.what, str(error))
        record = record_of(entry, busy_cpu_percent=options.busy_cpu_percent)
    if not in_turns(entry):
        return record
    from pytest_devperf.plugin.duel import olds_of
    from pytest_devperf.plugin.side import with_old_side

    return with_old_side(record, olds_of(entry))


def compare_record(entry: Entry, record: Record, config: pytest.Config, options: Options) -> Comparison | None:
    """Compare a case with its baseline, or with what its test measured it against; a plugin's answer beats ours.

    Returns:
        None where nothing is to be compared.
    """
    if in_turns(entry):
        from pytest_devperf.plugin.duel import verdict_of

        return verdict_of(entry, record)
    if not options.compare or not (entry.measured or entry.baseline):
        return None
    from pytest_devperf.compare.compare import compare

    if entry.baseline is not None:
        answer: Comparison | None = config.hook.pytest_devperf_compare(
            config=config, record=record, baseline=entry.baseline, policy=entry.policy
        )
        if answer is not None:
            return answer
    return compare(record, entry.baseline, entry.policy)


def with_comparison(record: Record, comparison: Comparison) -> Record:
    """Write a final comparison into a record, its cautions and comparability included."""
    notes = {**record.caution_notes, **comparison.cautions}
    comparable = comparison.verdict not in {"incomparable", "new"}
    return msgspec.structs.replace(
        record,
        comparison=comparison,
        cautions=tuple(notes),
        caution_notes=notes,
        run_context=replace(record.run_context, comparable_to_baseline=comparable),
    )


def conclude(entry: Entry, record: Record, config: pytest.Config, options: Options) -> None:
    """Turn a verdict into the outcome of the test, and hand the record to plugins."""
    comparison = record.comparison
    if comparison is not None and entry.passed_or_strict:
        if comparison.verdict == "regressed":
            message = failure_text(record).partition("\n")[0]
            fail(entry, message, partial(failure_text, record), regressed=True)
        elif comparison.verdict == "incomparable" and options.fail_on_incomparable:
            message = f"incomparable: {comparison.reason or 'see the cautions'}"
            fail(entry, message, message)
    report = call_report(entry)
    report.duration = entry.duration_s
    report.devperf = msgspec.to_builtins(record)  # type: ignore[attr-defined] # reports keep what they are given
    config.hook.pytest_devperf_recorded(config=config, record=record)

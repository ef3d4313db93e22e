"""The counts of a session's report."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_devperf.compare.compare import WORST_FIRST
from pytest_devperf.record.record import Change, Comparison, DeviceRecord, Outcome, Record, Run, Verdict, WorkloadRecord
from pytest_devperf.report.groups import grouped
from pytest_devperf.report.outcome import OUTCOMES
from pytest_devperf.report.report import Report, Saved, kind_of
from pytest_devperf.report.table import Column, lay_out
from pytest_devperf.report.terminal.text import render, summary_line

HOST = DeviceRecord(fingerprint="0123456789ab", kind="host")
VERDICTS = get_args(Verdict)


def a_case(verdict=None, outcome="passed", name="c") -> Record:
    comparison = Comparison(verdict=verdict) if verdict else None
    return Record(
        id=name, outcome=outcome, workload=WorkloadRecord(fingerprint="w", kind="call"), comparison=comparison
    )


def a_report(*cases, missing=(), compared_with="main", **fields) -> Report:
    run = Run(taken_at="2026-11-29T20:15:03Z", devperf_version="0", device=HOST, cases=cases, missing=missing)
    return Report(runs=(run,), compared_with=compared_with, **fields)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_verdict_is_counted_in_the_last_line(verdict):
    word = verdict.replace("_", " ")
    written = word if verdict in {"improved", "within_noise"} else word.upper()

    assert a_report(a_case(verdict)).counts == {verdict: 1}
    assert f"devperf: 1 {written};" in summary_line(a_report(a_case(verdict)))


def test_every_verdict_is_ranked():
    assert set(VERDICTS) == set(WORST_FIRST)


# A plain pass is shown by its verdict, or as measured.
@pytest.mark.parametrize("kind", sorted({*VERDICTS, *get_args(Outcome)} - {"passed"}))
def test_every_outcome_of_a_record_is_shown(kind):
    record = a_case(kind) if kind in VERDICTS else a_case(outcome=kind)
    (group,) = grouped(a_report(record))
    assert group.title == OUTCOMES[kind].group
    assert OUTCOMES[kind].word in summary_line(a_report(record))


def test_cases_without_a_verdict_are_counted_too():
    report = a_report(a_case(), a_case(outcome="failed"), a_case(outcome="error"), missing=("a", "b"), pending=3)

    assert report.counts == {"failed": 1, "error": 1, "missing": 2, "pending": 3, "measured": 1}
    assert "1 FAILED, 1 ERROR, 2 MISSING, 3 pending, 1 measured" in summary_line(report)


def test_counts_add_up_to_the_cases():
    cases = [a_case(verdict, outcome) for verdict in (None, *VERDICTS) for outcome in ("passed", "failed", "error")]

    assert sum(a_report(*cases).counts.values()) == len(cases)
    assert set(a_report(*cases).counts) <= set(OUTCOMES)


def test_a_test_that_failed_by_itself_counts_as_failed_for_any_verdict():
    assert kind_of(a_case("within_noise", "failed")) == "failed"
    assert kind_of(a_case("regressed", "failed")) == "regressed"


@pytest.mark.parametrize(
    ("verdicts", "nothing", "nothing_when_saving"),
    [
        ([], False, False),
        (["incomparable"], True, True),
        (["incomparable", "inconclusive", "new"], True, True),
        (["skipped"], True, True),
        (["new"], True, False),
        (["new", "skipped"], True, False),
        (["incomparable", "within_noise"], False, False),
        (["suspect"], False, False),
    ],
)
def test_a_comparison_in_which_nothing_was_compared_is_known(verdicts, nothing, nothing_when_saving):
    report = a_report(*map(a_case, verdicts))
    first = a_report(*map(a_case, verdicts), saved=(Saved(label="main", path="x"),))

    assert report.nothing_compared is nothing
    assert first.nothing_compared is nothing_when_saving
    assert ("NOTHING was compared with main" in summary_line(report)) is nothing


def test_without_a_baseline_nothing_was_to_be_compared():
    assert not a_report(a_case(), compared_with=None).nothing_compared


def test_the_last_line_reports_limitations_of_a_saved_run():
    poor = Saved(label="main", path="x", refusals=("throttled", "contended"))

    assert summary_line(a_report(a_case(), compared_with=None, saved=(poor,))).endswith(
        "saved, but will refuse comparison: throttled, contended"
    )
    assert "saved as main" in summary_line(a_report(a_case(), saved=(Saved(label="main", path="x"),)))


def test_the_first_run_of_a_label_is_reported_as_such():
    report = a_report(a_case("new"), saved=(Saved(label="main", path="x"),))

    assert summary_line(report) == "devperf: 1 NEW; there is no run of main to compare with yet; saved as main"


def test_an_empty_session_has_one_line():
    assert render(Report()) == "devperf: no case was measured"


def test_no_line_but_the_last_is_wider_than_the_terminal_and_none_carries_control_characters():
    cases = [
        Record(
            id=f"tests/some/folder/test_module_{n}.py::test_of_something[{'long ' * n}\x1b[0m\n]",
            workload=WorkloadRecord(fingerprint="w", kind="call"),
            comparison=Comparison(
                verdict="incomparable",
                changes=(
                    Change(metric="execute.forward", verdict="incomparable", candidate=1.5 * n, reason="y " * 90),
                ),
            ),
        )
        for n in range(6)
    ]
    for width in (40, 60, 80, 100, 160):
        text = render(a_report(*cases), width=width, verbosity=1)
        table = text.split("\n\n", 1)[0].splitlines()
        assert max(map(len, table)) <= width
        assert "\x1b" not in text


def test_a_column_that_is_empty_everywhere_is_left_out():
    columns = (Column(heading="a"), Column(heading="b"), Column(heading="c"))

    assert lay_out(columns, [("1", "", "2")], 80)[0].split() == ["a", "c"]
    assert lay_out(columns, [], 80) == []

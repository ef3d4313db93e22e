"""A change that most cases of a run share: when it is reported, and what stands out against it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf.compare.suite_shift import FEWEST_CASES, find_suite_shift
from pytest_devperf.record.measurement import derive
from pytest_devperf.record.record import Change, Comparison, DeviceRecord, Measurement, Record, Run, WorkloadRecord
from pytest_devperf.report.html.page import render as render_html
from pytest_devperf.report.markdown.text import render as render_markdown
from pytest_devperf.report.report import Report
from pytest_devperf.report.terminal.text import render

SENTENCE = (
    "9 of 10 cases are slower by about the same, +5.0 % (the anchor: +0.1 %): something that all share changed, such "
    "as the interpreter, a library or the machine; test_a.py::test_9 (+25.0 %) stands out against it"
)


def records(percents: Sequence[float], *, verdict: str = "suspect", anchor_pct: float | None = 0.1) -> list[Record]:
    """Cases that changed by so much, with a tolerance of 2 %."""
    made = []
    for number, percent in enumerate(percents):
        change = Change(
            metric="latency",
            verdict=verdict,
            baseline=1.0,
            candidate=1 + percent / 100,
            delta=percent / 100,
            delta_pct=percent,
            threshold=0.02,
            iqr_baseline=0.01,
            iqr_candidate=0.01,
            decided_by="tolerance",
            anchor_pct=anchor_pct,
        )
        made.append(
            Record(
                id=f"test_a.py::test_{number}",
                workload=WorkloadRecord(fingerprint="w", kind="call"),
                metrics=(derive(_measured(1 + percent / 100)),),
                comparison=Comparison(verdict=verdict, changes=(change,)),
            )
        )
    return made


def _measured(ms: float) -> Measurement:
    rows = tuple(tuple(1e6 * ms * (1 + place / 10_000) for place in range(30)) for _ in range(3))
    return Measurement(name="latency", unit="ms", main=True, process=(0, 1, 2), inner_loops=1, samples_ns=rows)


SHARED = (4.0, 4.5, 4.8, 5.0, 5.0, 5.0, 5.2, 5.5, 6.0, 25.0)


def test_a_shared_change_is_found_with_the_cases_that_stand_out() -> None:
    found = find_suite_shift(records(SHARED))
    assert found is not None
    assert (found.sharing, found.cases, found.anchor_pct) == (9, 10, 0.1)
    assert found.percent == pytest.approx(5.0)
    assert found.apart == (("test_a.py::test_9", pytest.approx(25.0)),)


@pytest.mark.parametrize(
    "percents",
    [
        (0.0,) * 10,
        (0.4, 0.3, 0.6, 0.8, 0.9, 0.5, 0.7, 0.2),
        (5.0,) * (FEWEST_CASES - 1),
        (5.0,) * 5 + (0.0,) * 5,
        (2.0, 4.0, 8.0, 16.0, 30.0, 60.0, 90.0, 120.0),
    ],
    ids=["unchanged", "early passes", "few cases", "half of them", "each by another amount"],
)
def test_other_runs_share_no_change(percents: Sequence[float]) -> None:
    assert find_suite_shift(records(percents)) is None


def test_cases_without_a_verdict_do_not_count() -> None:
    assert find_suite_shift(records(SHARED, verdict="incomparable")) is None


def test_code_that_became_faster_as_a_whole_is_found_too() -> None:
    found = find_suite_shift(records([-each for each in SHARED], anchor_pct=None))
    assert found is not None
    assert found.percent == pytest.approx(-5.0)
    assert found.anchor_pct is None


@given(st.lists(st.floats(-50, 200), min_size=FEWEST_CASES, max_size=30))
def test_most_cases_share_what_is_reported(percents: list[float]) -> None:
    found = find_suite_shift(records(percents))
    if found is not None:
        assert found.sharing >= 0.6 * found.cases
        assert abs(found.percent) > 0.9
        assert all(case_id in {each.id for each in records(percents)} for case_id, _ in found.apart)
        assert found.sharing + len(found.apart) <= found.cases


def report_of(percents: Sequence[float]) -> Report:
    device = DeviceRecord(fingerprint="0123456789ab", kind="host", model="Example CPU")
    run = Run(
        id="now1",
        taken_at="2026-11-01T08:00:00Z",
        devperf_version="0.1.0",
        device=device,
        cases=tuple(records(percents)),
    )
    return Report(runs=(run,), compared_with="main")


def test_the_terminal_shows_it_above_the_table() -> None:
    first = " ".join(render(report_of(SHARED), width=100).split("\n\n")[0].split())
    assert first == SENTENCE
    assert "about the same" not in render(report_of((0.0,) * 10))


def test_markdown_and_html_show_it_at_the_top() -> None:
    markdown, html = render_markdown(report_of(SHARED)), render_html(report_of(SHARED))
    plain = markdown.replace("\\", "")
    assert "cases are slower by about the same, +5.0 %" in plain
    assert plain.index("about the same") < plain.index("| case |")
    assert f"<b>{SENTENCE}</b>" in html
    assert html.index("about the same") < html.index("<main")

"""Markdown: what needs attention first, within GitHub's limits, and no name that does anything."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st
from made_reports import made_report, usual_names

from pytest_devperf.record.record import Change, Comparison, DeviceRecord, Record, Run, WorkloadRecord
from pytest_devperf.report.markdown.markup import code, prose
from pytest_devperf.report.markdown.text import COMMENT_BYTES, MARK, SUMMARY_BYTES, render
from pytest_devperf.report.report import Report
from pytest_devperf.untrusted import printable

HOST = DeviceRecord(fingerprint="0123456789ab", kind="host")

HOSTILE = (
    "a`b``c",
    "a|b\\|c\\",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</details></summary>",
    "@everyone see #12 and GH-3, https://evil.example www.evil.example a@b.example",
    "*bold* _it_ ~~gone~~ [link](javascript:alert(1)) ![i](x)",
    "two\nlines\r# heading",
    "\u202egnp.exe \x1b[2J",
    "$x$ $`y`$",
    " ",
    "",
)


class Reader(HTMLParser):
    """Collects elements, and text by whether it is code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.prose = ""
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._open.append(tag)
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if {"td", "th"} & set(self._open):
            self.cells[-1] += data
        if "code" not in self._open:
            self.prose += data


def read(text: str) -> Reader:
    """Render with GitHub's own parser; raw HTML stays, so that it can be seen."""
    return Reader(cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE))


def a_report(*cases: Record, missing=(), compared_with: str | None = "main") -> Report:
    run = Run(taken_at="2026-11-29T20:15:03Z", devperf_version="0", device=HOST, cases=cases, missing=missing)
    return Report(runs=(run,), compared_with=compared_with)


def a_change(case_id: str, verdict: str, percent: float = 0.0, reason: str | None = None) -> Record:
    change = Change(
        metric="latency",
        verdict=verdict,
        baseline=1.0,
        candidate=1 + percent / 100,
        delta=percent / 100,
        delta_pct=percent,
        decided_by="tolerance",
        threshold=0.02,
        iqr_baseline=0.01,
        iqr_candidate=0.01,
        reason=reason,
    )
    return Record(
        id=case_id,
        workload=WorkloadRecord(fingerprint="w", kind="call"),
        comparison=Comparison(verdict=verdict, changes=(change,), reason=reason),
    )


def test_regressions_come_first_then_improvements_then_what_was_not_judged_and_why():
    text = render(
        a_report(
            a_change("same", "within_noise"),
            a_change("odd", "incomparable", reason="the workload differs"),
            a_change("better", "improved", -20),
            a_change("slow", "regressed", 12),
            a_change("slowest", "regressed", 30),
            missing=("gone",),
        )
    )

    places = [
        text.index(word) for word in ("`slowest`", "`slow`", "`better`", "`odd`", "`gone`", "<details>", "`same`")
    ]
    assert text.startswith(f"{MARK}\n## Performance: 2 of 6 cases regressed\n")
    assert places == sorted(places)
    assert "INCOMPARABLE** `odd`: the workload differs" in text
    assert "MISSING** `gone`: in the baseline, but not measured" in text
    assert text.index("</details>") > text.index("`same`")


def test_it_is_a_table_for_githubs_parser():
    seen = read(render(made_report(usual_names(45)).report))

    assert seen.tags.count("table") == 3
    assert seen.cells[:7] == ["case", "metric", "baseline", "now", "change", "noise", "verdict"]
    assert seen.cells[7:9] == ["tests/test_models.py::test_model[1-fp16]", "latency"]
    assert seen.cells[13] == "🔴 REGRESSED"
    assert "details" in seen.tags


@pytest.mark.parametrize("limit", [COMMENT_BYTES, SUMMARY_BYTES])
@pytest.mark.parametrize("verdict", ["regressed", "improved", "incomparable", "within_noise"])
def test_two_thousand_cases_fit_and_the_others_are_counted(limit, verdict):
    cases = [a_change(f"tests/test_some_module.py::test_{at}[{'é' * 60}]", verdict, 10, "why") for at in range(2000)]

    text = render(a_report(*cases), limit_bytes=limit)

    shown = len(set(re.findall(r"test_(\d+)\[", text)))
    left_out = re.search(r"Left out, because this text may have no more than [\d,]+ bytes: (\d+) ", text)
    assert len(text.encode()) <= limit
    assert shown > 100
    assert (int(left_out[1]) if left_out else 0) == 2000 - shown or verdict in {"regressed", "improved"}
    assert "### Measured on" in text


def test_what_was_left_out_is_counted_by_its_kind():
    cases = [a_change(f"{verdict}{at}", verdict, 10) for verdict in ("regressed", "within_noise") for at in range(900)]

    text = render(a_report(*cases))

    assert re.search(r"Left out, .* bytes: \d+ regressions, 900 explanations, 900 unchanged cases\._", text)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_is_shown_and_does_nothing(text):
    record = a_change(text, "regressed", 12, reason=text)
    run = Run(taken_at=text, label=text, devperf_version="0", device=HOST, cases=(record,), missing=(text,))
    page = render(Report(runs=(run, run), compared_with=text, messages=(text,), closing=(text,)))

    seen = read(page)

    assert page.count("\n## ") + page.count("\n### ") == page.count("\n#")
    assert {"a", "img", "script", "del", "em", "input", "h1"}.isdisjoint(seen.tags)
    assert seen.tags.count("table") == 1
    assert len(seen.cells) == 7 + 2 * 7
    assert printable(text).strip() in seen.cells[7]
    assert not re.search(r"(?:^|\W)@\w|#\d|GH-\d|://|www\.", seen.prose)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_is_one_cell_and_shows_as_itself(first, second):
    seen = read(f"| a | b |\n| - | - |\n| {code(first)} x | {prose(second)} x |\n")

    assert seen.cells[0:2] == ["a", "b"]
    assert len(seen.cells) == 4
    assert " ".join(seen.cells[2].split()) == " ".join(f"{printable(first)} x".split())
    assert " ".join(seen.cells[3].replace("\u2060", "").split()) == " ".join(f"{printable(second)} x".split())
    assert set(seen.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "code", "span"}


def test_a_run_without_a_baseline_and_an_empty_one_are_written_too():
    measured = Record(id="c", workload=WorkloadRecord(fingerprint="w", kind="call"))

    assert "## Performance: 1 case measured" in render(a_report(measured, compared_with=None))
    assert render(Report()) == f"{MARK}\n## Performance: No case was measured\n"

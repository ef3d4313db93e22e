"""The words for where the time of a change went, in every report."""

from __future__ import annotations

from html import unescape

import pytest

from pytest_devperf.compare.where import where_lines
from pytest_devperf.explain.cause import Cause, Explanation
from pytest_devperf.record.record import Change, Comparison, DeviceRecord, Record, Run, WorkloadRecord
from pytest_devperf.report.detail import failure_text
from pytest_devperf.report.html import page
from pytest_devperf.report.markdown import text as markdown
from pytest_devperf.report.report import Report
from pytest_devperf.report.terminal import text as as_text

TOTAL = Cause(
    name="shop/cart.py total",
    kind="function",
    share=0.94,
    certain=True,
    calls=(1, 500),
    caller="shop/cart.py checkout",
)


def comparison(delta_ms: float = 0.33, verdict: str = "regressed", **explanation) -> Comparison:
    change = Change(
        metric="latency",
        verdict=verdict,
        baseline=1.0,
        candidate=1.0 + delta_ms,
        delta=delta_ms,
        delta_pct=100 * delta_ms,
    )
    return Comparison(verdict=verdict, changes=(change,), explanation=Explanation(metric="latency", **explanation))


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {"causes": (TOTAL,)},
            "where: shop/cart.py total +310.2 of +330.0 µs (94 %), calls 1 -> 500 from checkout",
        ),
        (
            {"causes": (Cause(name="link.py link", kind="function", share=0.5, certain=False),), "delta_ms": 66.0},
            "where: likely link.py link +33.00 of +66.00 ms (50 %)",
        ),
        (
            {"causes": (TOTAL,), "delta_ms": -0.5, "verdict": "improved"},
            "where: shop/cart.py total -470.0 of -500.0 µs (94 %), calls 1 -> 500 from checkout",
        ),
        (
            {"causes": (Cause(name="Conv /c", kind="node", share=1.0, certain=True, detail="1x8 -> 1x16"),)},
            "where: Conv /c +330.0 of +330.0 µs (100 %), 1x8 -> 1x16",
        ),
        (
            {
                "causes": tuple(
                    Cause(name=name, kind="file", share=share, certain=False)
                    for name, share in (("a.py", 0.61), ("b.py", 0.3))
                ),
                "spread": True,
            },
            "where: no single function, spread over a.py (61 %), b.py (30 %)",
        ),
        ({"reason": "nothing stands out"}, "where: nothing stands out"),
    ],
    ids=["certain", "likely", "improved", "shapes", "spread", "nothing"],
)
def test_an_explanation_is_a_sentence(given, line):
    assert where_lines(comparison(**given)) == [line]


def test_a_caller_of_another_file_keeps_its_file():
    other = Cause(name="b.py slow", kind="function", share=1.0, certain=True, calls=(0, 0.5), caller="a.py main")
    (line,) = where_lines(comparison(causes=(other,)))
    assert line.endswith("calls 0 -> 0.5 from a.py main")


def test_every_report_shows_it():
    record = Record(
        id="test_a.py::test_it",
        workload=WorkloadRecord(fingerprint="w", kind="call"),
        comparison=comparison(causes=(TOTAL,)),
    )
    run = Run(
        taken_at="2026-11-30T00:00:00Z",
        devperf_version="0.1.0",
        device=DeviceRecord(fingerprint="0123456789ab", kind="host"),
        cases=(record,),
    )
    report = Report(runs=(run,), compared_with="main")
    texts = [
        failure_text(record),
        as_text.render(report, width=200),
        unescape(markdown.render(report)),
        unescape(page.render(report, baselines={}, histories={})),
    ]
    assert ["calls 1 -> 500 from checkout" in " ".join(text.split()) for text in texts] == [True] * 4

"""The numbers of cases in the reports of pytest and of other plugins."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

if TYPE_CHECKING:
    from conftest import Suite

CASES = """
def fast():
    return 1

def slow():
    return 2

def test_fast(devperf, request):
    request.node.user_properties.append(("mine", 1))
    devperf(fast)
    devperf.record("boxes", 12.0, better="higher")

def test_slow(devperf):
    devperf(slow)

def test_ordinary():
    pass
"""


@pytest.fixture
def slower(suite: Suite) -> Suite:
    suite.pytester.makepyfile(test_two=CASES)
    suite.takes(fast=1_000_000, slow=2_000_000)
    suite.run("--devperf-save=base")
    suite.takes(fast=1_000_000, slow=3_000_000)
    return suite


def junit_properties(suite: Suite) -> dict[str, dict[str, str]]:
    """Read the properties of every test by its name."""
    root = ElementTree.parse(suite.path / "junit.xml").getroot()
    return {
        case.get("name", ""): {each.get("name", ""): each.get("value", "") for each in case.iter("property")}
        for case in root.iter("testcase")
    }


def test_junit_carries_every_metric_of_passing_and_failing_cases(slower: Suite) -> None:
    slower.run("--devperf-compare=base", "--junitxml=junit.xml")

    found = junit_properties(slower)
    assert found["test_ordinary"] == {}
    assert found["test_fast"]["mine"] == "1"
    assert found["test_fast"]["devperf:latency:verdict"] == "within_noise"
    assert found["test_fast"]["devperf:boxes"] == "12.0"
    slow = found["test_slow"]
    assert slow["devperf:verdict"] == slow["devperf:latency:verdict"] == "regressed"
    assert slow["devperf:latency:unit"] == "ms"
    now, then = (float(slow[f"devperf:latency{fact}"]) for fact in ("", ":baseline"))
    assert float(slow["devperf:latency:change_percent"]) == pytest.approx(100 * (now / then - 1), abs=0.01)
    assert float(slow["devperf:latency:noise_percent"]) > 0


def test_junit_carries_the_values_of_a_run_without_a_baseline(slower: Suite) -> None:
    slower.run("--devperf", "--junitxml=junit.xml")

    slow = junit_properties(slower)["test_slow"]
    assert slow["devperf:verdict"] == "measured"
    assert float(slow["devperf:latency"]) == pytest.approx(3.0, rel=0.05)
    assert "devperf:latency:baseline" not in slow


def test_no_name_breaks_junit(suite: Suite) -> None:
    suite.pytester.makepyfile(
        test_two="import pytest\ndef work(): pass\n"
        "@pytest.mark.parametrize('name', ['<b>&\"', 'a\\x1b[31m', 'a\\nb', '\\uffff'])\n"
        "def test_it(devperf, name): devperf(work)\n"
    )

    suite.run("--devperf", "--junitxml=junit.xml")

    assert all("devperf:latency" in each for each in junit_properties(suite).values())


def test_reportlog_carries_properties_and_the_whole_record(slower: Suite) -> None:
    pytest.importorskip("pytest_reportlog")

    slower.run("--devperf-compare=base", "--report-log=log.jsonl")

    lines = [json.loads(line) for line in (slower.path / "log.jsonl").read_text().splitlines()]
    calls = {each["nodeid"]: each for each in lines if each.get("when") == "call"}
    slow = calls["test_two.py::test_slow"]
    assert ["devperf:latency:verdict", "regressed"] in slow["user_properties"]
    assert slow["devperf"]["comparison"]["verdict"] == "regressed"
    assert slow["longrepr"].startswith("latency regressed: ")
    assert calls["test_two.py::test_ordinary"]["user_properties"] == []


def html_tests(suite: Suite) -> dict[str, dict[str, object]]:
    """Read the tests of pytest-html's report by their ids."""
    page = (suite.path / "report.html").read_text(encoding="utf-8")
    found = re.search(r'data-jsonblob="([^"]*)"', page)
    assert found is not None
    return {name: rows[0] for name, rows in json.loads(html.unescape(found[1]))["tests"].items()}


@pytest.mark.every_plugin
def test_pytest_html_shows_the_numbers_in_a_column_and_in_the_details(slower: Suite) -> None:
    pytest.importorskip("pytest_html")

    slower.run("--devperf-compare=base", "--html=report.html", "--self-contained-html")

    page = (slower.path / "report.html").read_text(encoding="utf-8")
    tests = html_tests(slower)
    slow, ordinary = tests["test_two.py::test_slow"], tests["test_two.py::test_ordinary"]
    assert "<th>Performance</th>" in page
    assert re.search(r"<td>latency 3\.\d+ ms \(\+\d+\.\d %\), REGRESSED</td>", str(slow["resultsTableRow"]))
    assert re.search(r"latency +2\.\d+ ms +3\.\d+ ms", str(slow["log"]))
    assert "<td></td>" in str(ordinary["resultsTableRow"])


@pytest.mark.every_plugin
def test_no_name_is_markup_in_pytest_html(suite: Suite) -> None:
    pytest.importorskip("pytest_html")
    suite.pytester.makepyfile(
        test_two="import pytest\ndef work(): pass\n@pytest.mark.devperf(id='<script>alert(1)</script>')\n"
        "def test_it(devperf): devperf(work)\n"
    )

    suite.run("--devperf", "--html=report.html", "--self-contained-html")

    (test,) = html_tests(suite).values()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in str(test["log"])
    assert "<script>" not in str(test)

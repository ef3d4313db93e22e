"""With pytest-xdist, every worker measures on its own phone."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("xdist")

Session = Any
"""The fixtures' own class; conftest files are not imported."""

WORKER_LINE = re.compile(r"\bcreated: \d+/\d+ workers?|\b\d+ workers? \[|\[gw\d+\]")
"""pytest-xdist's message about workers that it starts; a folder may be called gw0 as well."""

CASES = """
import pytest

@pytest.mark.parametrize("number", range(2))
def test_tool(devperf, number):
    devperf.command(["sh", "tool.sh", "{iterations}"], push=["tool.sh"])

def test_app(devperf):
    devperf.app("com.example.bench")
"""


@pytest.fixture
def spread(session: Session) -> Session:
    session.pytester.makepyfile(test_many=CASES)
    return session


def run(session: Session, *args: str, target: str = "sim") -> pytest.RunResult:
    """Workers are processes, so the session is one, too."""
    return session.pytester.runpytest_subprocess(*session.arguments(*args, target=target))


def flat(result: Any) -> str:
    return " ".join((result.stdout.str() + result.stderr.str()).split())


def by_device(session: Session) -> dict[str, list[str]]:
    document = json.loads((session.path / "run.json").read_text())
    return {each["device"]["fingerprint"]: [case["id"] for case in each["cases"]] for each in document["runs"]}


def test_cases_are_dealt_out_saved_for_each_phone_and_compared_with_its_own(
    spread: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    saving = run(spread, "-n2", "--dist=each", "--devperf-save=base", "--devperf-json=run.json")

    assert saving.ret == 0
    assert WORKER_LINE.search(flat(saving))
    first = by_device(spread)
    assert [len(cases) for cases in first.values()] == [4, 4]
    assert len(spread.saved()) == 2
    assert flat(saving).count("devperf device: sim Google Pixel 8") == 2
    assert "; there is no wait for a phone to cool" in flat(saving)

    spread.phone_is(slow=1.3)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(spread.path / "summary.md"))
    files = ("--devperf-json=run.json", "--devperf-markdown=report.md", "--junitxml=junit.xml")
    result = run(spread, "-n2", "--dist=load", "--devperf-compare=base", "--devperf-no-confirm", *files, "-v")

    assert result.ret == 1
    dealt = by_device(spread)
    assert set(dealt) == set(first)
    assert sorted(case for cases in dealt.values() for case in cases) == sorted(next(iter(first.values())))
    assert "devperf: 4 REGRESSED; compared with base" in flat(result)
    assert "MISSING" not in flat(result)
    for name in ("report.md", "summary.md"):
        assert "4 of 4 cases regressed" in (spread.path / name).read_text(encoding="utf-8")
    assert sum(line.startswith("::error file=test_many.py,line=") for line in result.outlines) == 4
    assert (spread.path / "junit.xml").read_text().count('name="devperf:verdict" value="regressed"') == 4


def test_more_workers_than_phones_end_the_session_before_anything(spread: Session) -> None:
    result = run(spread, "-n2", target="android")

    assert result.ret == 4
    assert "-n2 needs one phone per worker, and 0 can be used" in flat(result)


@pytest.mark.parametrize("target", ["host", "auto"])
def test_workers_on_this_machine_are_refused_with_the_reason(spread: Session, target: str) -> None:
    result = run(spread, "-n2", target=target)

    assert result.ret == 4
    assert "cases that run in parallel disturb each other" in flat(result)
    assert "--devperf-target=android" in flat(result)


def test_a_label_that_no_phone_has_ends_the_session_before_a_worker_starts(spread: Session) -> None:
    result = run(spread, "-n2", "--devperf-compare=nothing")

    assert result.ret == 4
    assert "is empty" in flat(result)
    assert not WORKER_LINE.search(flat(result))


def test_clocks_held_otherwise_than_in_every_baseline_end_the_session_before_a_worker_starts(spread: Session) -> None:
    run(spread, "-n2", "--dist=each", "--devperf-save=base")

    result = run(spread, "-n2", "--devperf-compare=base", "--devperf-pin-clocks=off")

    assert result.ret == 4
    assert "--devperf-compare=base: clocks were held in the baseline of every case" in flat(result)
    assert not WORKER_LINE.search(flat(result))


def test_cases_that_vanished_are_missing_on_every_phone(spread: Session) -> None:
    run(spread, "-n2", "--dist=each", "--devperf-save=base")
    (spread.path / "test_many.py").write_text("import pytest\npytest.importorskip('no_such_module')\n")
    spread.pytester.makepyfile(test_unit="def test_ordinary(): pass")

    vanished = run(spread, "-n2", "--devperf-compare=base", "--devperf-json=run.json")

    assert vanished.ret == 1
    assert "NOTHING was compared with base" in flat(vanished)
    runs = json.loads((spread.path / "run.json").read_text())["runs"]
    assert [len(each["missing"]) for each in runs] == [4, 4]


def test_cases_that_the_user_deselected_are_missing_on_no_phone(spread: Session) -> None:
    run(spread, "-n2", "--dist=each", "--devperf-save=base")
    spread.pytester.makepyfile(test_unit="def test_ordinary(): pass")

    deselected = run(spread, "-n2", "--devperf-compare=base", "-k", "ordinary")

    assert deselected.ret == 0
    assert "devperf: no case was measured and nothing was compared" in flat(deselected)

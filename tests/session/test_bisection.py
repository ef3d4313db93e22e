"""Which commit a bisection measures next, and what it concludes: real repositories, made-up measurements."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import Repository

from pytest_devperf.errors import UsageError
from pytest_devperf.record.record import Change, Comparison, Record, WorkloadRecord
from pytest_devperf.session.revision.bisection import Bisection, Finding, FindingsFile, find_ends
from pytest_devperf.session.revision.measured_commit import finding_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

COMMITS = 12


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with one branch: v0 to v12."""
    repository = Repository(tmp_path_factory.mktemp("line"))
    for number in range(COMMITS + 1):
        repository.commit(f"v{number}", {"number.txt": str(number)})
    return repository


def found(bisection: Bisection, slower_from: int, broken: Collection[int] = ()) -> list[str]:
    """Bisect commits v0 to v12 that are slower from a number on; return the subjects of what remains."""
    while (commit := bisection.next_commit()) is not None:
        number = int(bisection.subject(commit).removeprefix("v"))
        outcome = "skipped" if number in broken else "slower" if number >= slower_from else "not slower"
        bisection.findings[commit] = Finding(outcome=outcome)
    return sorted(map(bisection.subject, bisection.suspects()), key=lambda each: int(each[1:]))


@pytest.mark.parametrize("first", range(1, COMMITS + 1))
def test_the_first_slower_commit_is_found_in_few_measurements(line: Repository, first: int) -> None:
    bisection = find_ends(line.path, "v0", "HEAD")
    assert found(bisection, first) == [f"v{first}"]
    assert len(bisection.findings) <= 5


@settings(deadline=None, max_examples=30)
@given(
    first=st.integers(1, COMMITS),
    broken=st.sets(st.integers(1, COMMITS - 1), max_size=6),
)
def test_skipped_commits_leave_the_shortest_range_that_holds_the_first_slower_one(
    line: Repository, first: int, broken: set[int]
) -> None:
    left = found(find_ends(line.path, "v0", "HEAD"), first, broken)
    last_good = max(number for number in range(first) if number not in broken)
    first_bad = min(number for number in range(first, COMMITS + 1) if number not in broken)
    assert left == [f"v{number}" for number in range(last_good + 1, first_bad + 1)]


def test_a_merged_branch_is_searched_too(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.commit("v0", {"a.txt": "0"})
    repository.git("checkout", "--quiet", "-b", "side")
    for number in (1, 2, 3):
        repository.commit(f"s{number}", {"b.txt": str(number)})
    repository.git("checkout", "--quiet", "main")
    repository.commit("v1", {"a.txt": "1"})
    repository.git("-c", "user.name=S", "-c", "user.email=s@example.org", "merge", "--quiet", "-m", "merge", "side")
    bisection = find_ends(tmp_path, "v0", "HEAD")
    while (commit := bisection.next_commit()) is not None:
        slower = bisection.subject(commit) in {"s2", "s3", "merge"}
        bisection.findings[commit] = Finding(outcome="slower" if slower else "not slower")
    assert list(map(bisection.subject, bisection.suspects())) == ["s2"]


def test_an_end_that_is_not_slower_ends_the_search(line: Repository) -> None:
    bisection = find_ends(line.path, "v0", "v5")
    assert bisection.next_commit() == bisection.bad.commit
    bisection.findings[bisection.bad.commit] = Finding(outcome="not slower")
    assert bisection.next_commit() is None


@pytest.mark.parametrize(
    ("good", "bad", "sentence"),
    [
        ("v3", "v3", "are the same commit: pass an older GOOD"),
        ("v3", "v1", "is no ancestor of v1"),
        ("v0", "nonsense", "no revision 'nonsense' in "),
    ],
)
def test_ends_that_make_no_range_are_refused(line: Repository, good: str, bad: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        find_ends(line.path, good, bad)


def test_results_are_kept_until_they_are_deleted(
    line: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    bisection = find_ends(line.path, "v0", "HEAD")
    file = FindingsFile(bisection, ["test_a.py::test", "-k", "x"])
    assert file.read() == {}
    findings = {bisection.bad.commit: Finding(outcome="slower", delta_pct=12.5, metric="latency")}
    file.write(findings)
    assert FindingsFile(bisection, ["test_a.py::test", "-k", "x"]).read() == findings
    assert FindingsFile(bisection, ["test_a.py::test"]).read() == {}
    file.delete()
    assert file.read() == {}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": {"outcome": "slower", "more": 1}}'])
def test_a_damaged_file_of_results_is_ignored(
    line: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    file = FindingsFile(find_ends(line.path, "v0", "HEAD"), ["test_a.py::test"])
    file.write({})
    (written,) = tmp_path.rglob("*.json")
    written.write_text(text)
    assert file.read() == {}


def record_with(comparison: Comparison | None) -> Record:
    return Record(
        id="test_a.py::test",
        workload=WorkloadRecord(fingerprint="w", kind="call"),
        outcome="failed" if comparison is None else "passed",
        comparison=comparison,
    )


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        ("regressed", "slower"),
        ("within_noise", "not slower"),
        ("improved", "not slower"),
        ("suspect", "skipped"),
        ("inconclusive", "skipped"),
        ("incomparable", "skipped"),
        ("new", "skipped"),
        ("skipped", "skipped"),
    ],
)
def test_only_a_verdict_decides_about_a_commit(verdict: str, outcome: str) -> None:
    change = Change(metric="latency", verdict=verdict, delta_pct=4.0)
    comparison = Comparison(verdict=verdict, changes=(change,), reason="why" if outcome == "skipped" else None)
    finding = finding_of(record_with(comparison))
    assert (finding.outcome, finding.delta_pct, finding.metric) == (outcome, 4.0, "latency")
    assert (finding.reason is not None) == (outcome == "skipped")


def test_a_test_that_fails_skips_the_commit() -> None:
    finding = finding_of(record_with(None))
    assert (finding.outcome, finding.reason) == ("skipped", "the test ended as failed")

"""Files of a git revision and today's in turns on a phone (`--devperf-against`)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from model_files import pte
from repositories import Repository
from stand_in import build_stand_in

Session = Any
"""The fixtures' own class; conftest files are not imported."""

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

PAIRS = ("--devperf-rounds=4", "--devperf-processes=4", "--devperf-against=v1", "--devperf-json=run.json")

CASE = "test_tool.py::test_tool"


@pytest.fixture
def repository(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The session's folder as a repository, whose first commit has the tool."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    repository = Repository(session.path)
    repository.commit("v1", {"README": "one"})
    return repository


def slow_down(session: Session, factor: str) -> None:
    tool = session.path / "tool.sh"
    tool.write_text(tool.read_text().replace("1000000", factor))


@pytest.mark.parametrize(("ns", "verdict", "code"), [("1000000", "within_noise", 0), ("1100000", "regressed", 1)])
def test_a_pushed_program_is_compared_with_that_of_the_revision(
    tool: Session, repository: Repository, ns: str, verdict: str, code: int
) -> None:
    slow_down(tool, ns)

    result = tool.run(*PAIRS)

    assert result.ret == code
    comparison = tool.cases()[CASE]["comparison"]
    assert comparison["verdict"] == verdict
    assert comparison["changes"][0]["delta_pct"] == pytest.approx(10 * code, abs=0.5)
    assert any(note.startswith("old code in turns: v1 (") for note in comparison["notes"])
    assert repository.git("status", "--porcelain", "--untracked-files=no", "conftest.py") == ""


def test_two_revisions_are_compared_whatever_the_checkout_holds(tool: Session, repository: Repository) -> None:
    slow_down(tool, "1100000")
    repository.commit("v2", {"README": "two"})
    (tool.path / "tool.sh").write_text("awk -v n=$1 'BEGIN { for (i = 0; i < n; i++) print 5000000 }'\n")

    result = tool.run(*PAIRS[:2], "--devperf-against=v1..v2", "--devperf-json=run.json")

    assert result.ret == 1
    (change,) = tool.cases()[CASE]["comparison"]["changes"]
    assert change["delta_pct"] == pytest.approx(10, abs=0.5)


def test_a_folder_that_is_pushed_comes_from_the_revision(session: Session, repository: Repository) -> None:
    (session.path / "bin").mkdir()
    shutil.move(session.path / "tool.sh", session.path / "bin" / "tool.sh")
    repository.commit("v2", {"README": "two"})
    tool = session.path / "bin" / "tool.sh"
    tool.write_text(tool.read_text().replace("1000000", "1100000"))
    session.pytester.makepyfile(
        test_tool="def test_tool(devperf):\n    devperf.command(['sh', 'bin/tool.sh', '{iterations}'], push=['bin'])\n"
    )

    result = session.run(*PAIRS[:2], "--devperf-against=v2", "--devperf-json=run.json")

    assert result.ret == 1
    assert session.cases()[CASE]["comparison"]["verdict"] == "regressed"


def test_a_program_that_the_revision_does_not_have_is_new(tool: Session, repository: Repository) -> None:
    tool.pytester.makepyfile(test_tool=(tool.path / "test_tool.py").read_text().replace("tool.sh", "other.sh"))
    shutil.copy(tool.path / "tool.sh", tool.path / "other.sh")
    repository.git("add", "other.sh")

    tool.run(*PAIRS)

    comparison = tool.cases()[CASE]["comparison"]
    assert (comparison["verdict"], comparison["changes"]) == ("new", [])
    assert "has no other.sh" in comparison["reason"]


def test_a_model_is_compared_with_that_of_the_revision(
    session: Session, repository: Repository, tmp_path: Path
) -> None:
    folder = tmp_path / "setups" / "sim"
    folder.mkdir(parents=True, exist_ok=True)
    build_stand_in("executor_runner", folder)
    model = session.path / "m.pte"
    model.write_bytes(pte())
    repository.commit("v2", {"README": "two"})
    model.write_bytes(pte() + bytes(8))
    session.pytester.makepyfile(test_tool="def test_tool(devperf):\n    assert 'output0' in devperf.model('m.pte')\n")

    result = session.run(*PAIRS[:2], "--devperf-against=v2", "--devperf-json=run.json")

    result.assert_outcomes(passed=1)
    (change,) = session.cases()[CASE]["comparison"]["changes"]
    assert (change["metric"], change["pairs"]) == ("execute.forward", 4)  # four are too few for its real times
    (metric,) = [each for each in session.cases()[CASE]["metrics"] if each["name"] == "execute.forward"]
    assert len(metric["against"]["samples_ns"]) == len(metric["samples_ns"]) > 0

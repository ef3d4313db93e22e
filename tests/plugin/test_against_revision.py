"""Old and new code in turns, the old one from a git revision: real repositories, real interpreters."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from repositories import Repository

if TYPE_CHECKING:
    from conftest import Suite

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")]

OLD = """
def work(n):
    return sum(i * i for i in range(n))
"""

NEW = OLD.replace("in range(n)", "in range(3 * n)")

CASES = """
import sys
import measured

def test_work(devperf):
    devperf(measured.work, 3000)

def test_tool(devperf):
    devperf.command([sys.executable, "tool.py", "{iterations}"])
"""

TOOL = """
import sys
for place in range(int(sys.argv[1])):
    print(1000 * took + place)
"""

INI = "[pytest]\naddopts = -p no:cacheprovider\nasyncio_default_fixture_loop_scope = function\n"


@pytest.fixture
def repository(suite: Suite, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """The suite's folder as a repository."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    repository = Repository(suite.path)
    repository.write({"pytest.ini": INI})
    (suite.path / "tox.ini").unlink()
    return repository


@pytest.mark.slow
def test_a_dirty_checkout_is_compared_with_a_revision_and_stays_as_it_is(suite: Suite, repository: Repository) -> None:
    repository.write({"conftest.py": ""})
    hook = repository.path / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    repository.commit("v1", {"measured.py": OLD, "tool.py": f"took = 100\n{TOOL}", "test_ab.py": "def test(): pass\n"})
    repository.write({"measured.py": NEW, "tool.py": f"took = 300\n{TOOL}", "test_ab.py": CASES})
    before = repository.git("status", "--porcelain", "--untracked-files=no")

    quick = ("--devperf-iterations=5", "--devperf-tolerance=60%", "--devperf-processes=4")
    result = suite.run_here(*quick, "--devperf-against=v1", "--devperf-json=run.json", "-v")

    # The tool prints the same times on every machine; on a busy one, a function may remain without a verdict.
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_tool REGRESSED*"])
    (change,) = suite.cases()["test_ab.py::test_work"]["comparison"]["changes"]
    assert change["delta_pct"] > 50  # it is three times as slow
    result.stdout.fnmatch_lines(["*note: old code in turns: v1 (?????????)*"])
    assert "imported" not in result.stdout.str()
    assert repository.git("status", "--porcelain", "--untracked-files=no") == before
    assert repository.git("worktree", "list").count("\n") == 1
    assert not (repository.path / ".git" / "worktrees").exists()
    assert not (repository.path / "hooked").exists()


@pytest.mark.slow
def test_tests_that_import_nothing_of_the_revision_are_reported(suite: Suite, repository: Repository) -> None:
    repository.commit("v1", {"conftest.py": "", "test_ab.py": "def test_sum(devperf):\n    devperf(sum, [1, 2])\n"})
    result = suite.run_here("--devperf-iterations=1", "--devperf-processes=1", "--devperf-against=v1")
    assert "the tests imported no module of v1 (" in suite.flat(result)


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ("nonsense", "no such revision in "),
        ("v1..nonsense", "no revision nonsense in "),
        ("nonsense..v1", "no revision nonsense in "),
    ],
)
def test_an_unknown_revision_is_refused_before_anything_runs(
    two_cases: Suite, repository: Repository, named: str, sentence: str
) -> None:
    repository.commit("v1", {"measured.py": OLD})
    result = two_cases.run(f"--devperf-against={named}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = result.stderr.str().strip().splitlines()
    assert f"--devperf-against={named}: {sentence}" in line
    assert line.endswith("pass a revision, or an interpreter (.../bin/python)")
    assert "passed" not in result.stdout.str()


def test_outside_a_repository_a_revision_is_refused(two_cases: Suite) -> None:
    result = two_cases.run("--devperf-against=main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = result.stderr.str().strip().splitlines()
    assert "--devperf-against=main: there is no such interpreter, and " in line
    assert "is in no git repository" in line

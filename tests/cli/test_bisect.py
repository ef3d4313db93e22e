"""`devperf bisect` with a real repository and real interpreters; what it measures prints the same times anywhere."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from repositories import Repository
from waiting import has_ended, until

from pytest_devperf.cli.command import main
from pytest_devperf.session.revision.bisection import Finding, FindingsFile, find_ends

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")]

CASES = """
import sys

def test_tool(devperf):
    devperf.command([sys.executable, "tool.py", "{iterations}"])
"""

TOOL = """
import sys
took = 100
for place in range(int(sys.argv[1])):
    print(1000 * took + place)
"""

INI = "[pytest]\naddopts = -p no:randomly\nasyncio_default_fixture_loop_scope = function\n"

CASE = "test_ab.py::test_tool"

QUICK = ("--", "--devperf-iterations=5", "--devperf-processes=4")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Six commits: v3 does not run, and v5 is slower."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(each for each in sys.path if each))
    repository = Repository(tmp_path / "suite")
    slower = TOOL.replace("took = 100", "took = 130")
    repository.commit("v1", {"pytest.ini": INI, "conftest.py": "", "test_ab.py": CASES, "tool.py": TOOL})
    repository.commit("v2", {"README": "two"})
    repository.commit("v3", {"tool.py": "raise SystemExit('broken')\n"})
    repository.commit("v4", {"tool.py": TOOL})
    repository.commit("v5", {"tool.py": slower})
    repository.commit("v6", {"README": "six"})
    monkeypatch.chdir(repository.path)
    return repository


def test_the_first_slower_commit_is_named_and_the_checkout_stays_as_it_is(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.write({"README": "not committed"})
    before = repository.git("status", "--porcelain", "--ignored"), repository.git("for-each-ref")

    assert main(["bisect", "v4", CASE, *QUICK]) == 0

    *steps, sentence = capsys.readouterr().out.strip().splitlines()
    assert steps[0].split()[1] == "slower"
    assert sentence.startswith("the first slower commit is ")
    assert " v5: latency +30.0 % since v4 (" in sentence
    assert (repository.git("status", "--porcelain", "--ignored"), repository.git("for-each-ref")) == before
    assert repository.git("worktree", "list").count("\n") == 1
    assert not list(repository.path.rglob("__pycache__"))


def test_commits_without_a_verdict_are_skipped_and_the_document_names_what_remains(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    """The slower commit is the one after a broken one, so either may be the first."""
    repository.git("checkout", "--quiet", "v3")
    repository.commit("w4", {"tool.py": TOOL.replace("took = 100", "took = 130")})

    assert main(["bisect", "v2", "w4", CASE, "--format", "json", *QUICK]) == 1

    document = json.loads(capsys.readouterr().out)
    outcomes = {step["subject"]: step["outcome"] for step in document["steps"]}
    assert outcomes == {"w4": "slower", "v3": "skipped"}
    assert document["first_slower"] is None
    assert len(document["remaining"]) == 2
    assert "broken" in document["steps"][1]["reason"]


def keep(repository: Repository, good: str, bad: str, finding: Finding) -> FindingsFile:
    """Leave the result of an interrupted bisection, as if BAD had been measured."""
    bisection = find_ends(repository.path, good, bad)
    file = FindingsFile(bisection, [CASE])
    file.write({bisection.bad.commit: finding})
    return file


def test_code_that_is_not_slower_has_no_first_slower_commit(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(repository, "v1", "v2", Finding(outcome="not slower", delta_pct=0.1, metric="latency"))

    assert main(["bisect", "v1", "v2", CASE]) == 1

    assert " is not slower than v1 (" in capsys.readouterr().out


def test_an_interrupted_bisection_goes_on(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    file = keep(repository, "v4", "v5", Finding(outcome="slower", delta_pct=9.0, metric="latency"))

    assert main(["bisect", "v4", "v5", CASE]) == 0

    known, sentence = capsys.readouterr().out.strip().splitlines()
    assert known.endswith("v5: latency +9.0 % (measured before)")
    assert "the first slower commit is " in sentence
    assert file.read() == {}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["v1"], "the following arguments are required"),
        (["v6", "v1", CASE], "is no ancestor of v1"),
        (["nonsense", CASE], "no revision 'nonsense'"),
        (["v1", CASE, "more", "--unknown"], "unrecognized arguments: --unknown"),
    ],
)
def test_wrong_words_are_refused_in_one_line(
    repository: Repository, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    try:
        code = main(["bisect", *words])
    except SystemExit as exit_:
        code = exit_.code
    assert code == 4
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert sentence in line


def test_several_cases_are_refused(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    repository.write({"test_ab.py": CASES + CASES.replace("test_tool", "test_other")})
    assert main(["bisect", "v1", "test_ab.py", *QUICK]) == 4
    assert "test_ab.py names 2 cases: " in capsys.readouterr().err


def measuring_below(pid: int) -> list[psutil.Process]:
    """Return the pytest that a process has started; git, and a fork that is not a program yet, have other words."""
    found = []
    for child in psutil.Process(pid).children():
        with suppress(psutil.Error):
            found += [child] if "pytest" in child.cmdline() else []
    return found


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a program without a signal")
def test_a_bisection_that_is_terminated_ends_the_pytest_that_it_started(repository: Repository) -> None:
    command = [sys.executable, "-m", "pytest_devperf.cli", "bisect", "v1", CASE, *QUICK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as bisection:
        (child,) = until(lambda: measuring_below(bisection.pid))
        bisection.terminate()
        output, _ = bisection.communicate()
    assert bisection.returncode == 128 + signal.SIGTERM
    assert has_ended(child.pid)
    assert b"Traceback" not in output


def test_outside_a_repository_nothing_can_be_bisected(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest_devperf.cli", "bisect", "v1", CASE],
        cwd=tmp_path,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "is in no git repository" in done.stderr

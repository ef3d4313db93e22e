"""A session that was killed is resumed by the same command, and ends in the same document."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Suite

SUITE = """
import pathlib

HERE = pathlib.Path(__file__).parent
PLACE = "{place}"

def fast(): return 1
def slow(): return 2

def ran(name):
    with (HERE / "ran.txt").open("a") as file:
        print(name, file=file)

def test_fast(devperf):
    ran("fast")
    assert devperf(fast) == 1

def test_fails(devperf):
    ran("fails")
    devperf(fast)
    assert 1 == 3

def test_slow(devperf):
    ran("slow")
    assert devperf(slow) == 2
    devperf.record("boxes", 812)

def test_ordinary():
    ran("ordinary")
"""

INTERRUPTED = """
import pytest

DIES = pathlib.Path(__file__).with_name("dies.txt")
_run = VirtualTarget.start

@contextmanager
def start(self, workload, process):
    left = int(DIES.read_text()) if DIES.exists() else None
    if left == 0:
        DIES.unlink()
        pytest.exit("ended by the user")
    if left is not None:
        DIES.write_text(str(left - 1))
    with _run(self, workload, process) as runner:
        yield runner

VirtualTarget.start = start
"""


@pytest.fixture
def interrupted(suite: Suite) -> Suite:
    """A suite on the virtual device, which the user ends after the number of process starts in `dies.txt`."""
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + INTERRUPTED)
    suite.pytester.makepyfile(test_it=SUITE)
    return suite


def _logs(suite: Suite) -> list[Path]:
    return sorted((suite.path / ".pytest_cache").rglob("*.log"))


def _ran(suite: Suite) -> list[str]:
    ran = suite.path / "ran.txt"
    names = ran.read_text().split() if ran.exists() else []
    ran.unlink(missing_ok=True)
    return names


def _comparable(suite: Suite) -> Any:
    text = (suite.path / "run.json").read_text()
    return json.loads(re.sub(r'"(id": "[0-9a-f]{8}|taken_at": "[^"]*|generation": "[^"]*)"', '"name": ""', text))


SAVE = ("--devperf-save=base", "--devperf-json=run.json", "--devperf-cooldown=off", "--devperf-seed=5")


def test_a_session_that_the_user_ended_is_resumed_by_the_same_command(interrupted: Suite) -> None:
    interrupted.run(*SAVE)
    whole = _comparable(interrupted)
    _ran(interrupted)
    (interrupted.path / "dies.txt").write_text("6")
    ended = interrupted.run(*SAVE)
    assert ended.ret == pytest.ExitCode.INTERRUPTED
    assert "the same command with --devperf-resume goes on with it" in interrupted.flat(ended)
    assert _ran(interrupted) == ["fast", "fails", "slow", "ordinary"]
    resumed = interrupted.run(*SAVE, "--devperf-resume")
    assert "devperf: resumes the session of" in interrupted.flat(resumed)
    # What failed is reported as it was; the others' tests say what is measured again on the device.
    assert _ran(interrupted) == ["fast", "slow", "ordinary"]
    assert "assert 1 == 3" in resumed.stdout.str()
    resumed.assert_outcomes(passed=3, failed=1)
    assert resumed.ret == pytest.ExitCode.TESTS_FAILED
    assert _comparable(interrupted) == whole
    assert _logs(interrupted) == []
    assert "--devperf-resume" not in interrupted.flat(interrupted.run(*SAVE))


def test_the_next_session_reports_that_one_can_be_resumed_and_how_to_drop_it(interrupted: Suite) -> None:
    (interrupted.path / "dies.txt").write_text("6")
    interrupted.run(*SAVE)
    (log,) = _logs(interrupted)
    output = interrupted.flat(interrupted.run("--devperf", "-k", "ordinary or fails"))
    words = "process starts of 3 cases) did not finish: the same command with --devperf-resume goes on with it"
    assert words in output
    assert f"delete {log.relative_to(interrupted.path)} to drop it" in output
    log.unlink()
    assert "--devperf-resume" not in interrupted.flat(interrupted.run("--devperf", "-k", "fails"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("--devperf-rounds=24",), "--devperf-rounds was 12 and is 24"),
        (("-k", "not slow"), "the case test_it.py::test_slow is gone"),
        (("-p", "no:cacheprovider"), "sessions are kept in pytest's cache"),
    ],
)
def test_another_command_is_refused_before_anything_runs(
    interrupted: Suite, change: tuple[str, ...], words: str
) -> None:
    (interrupted.path / "dies.txt").write_text("6")
    interrupted.run(*SAVE)
    _ran(interrupted)
    refused = interrupted.run(*SAVE, "--devperf-resume", *change)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert words in refused.stderr.str()
    assert _ran(interrupted) == []
    assert len(_logs(interrupted)) == 1


def test_changed_code_is_refused_and_no_longer_offered(interrupted: Suite) -> None:
    (interrupted.path / "dies.txt").write_text("6")
    interrupted.run(*SAVE)
    interrupted.pytester.makepyfile(test_it=SUITE.replace("return 2", "return 1 + 1"))
    assert "--devperf-resume" not in interrupted.flat(interrupted.run("--devperf", "-k", "fails"))
    refused = interrupted.run(*SAVE, "--devperf-resume")
    assert "test_it.py was changed, so the session of" in refused.stderr.str()


def test_without_an_unfinished_session_the_option_is_refused(interrupted: Suite) -> None:
    refused = interrupted.run("--devperf", "--devperf-resume")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "every session of this folder finished" in refused.stderr.str()


FIXTURES = """
import pytest

@pytest.fixture(scope="module", autouse=True)
def opened():
    yield
    print("closed", __name__)
    {end}

def fast(): return 1

def test_first(devperf):
    devperf(fast)

def test_ordinary(): pass

def test_last(devperf):
    assert devperf(fast) == 2
"""


@pytest.mark.parametrize("end", ["pass", "assert 0, 'not closed'"])
def test_fixtures_of_tests_that_do_not_run_are_torn_down_in_time(interrupted: Suite, end: str) -> None:
    text = FIXTURES.format(end=end)
    interrupted.pytester.makepyfile(test_a=text, test_b=text, test_it="")
    (interrupted.path / "dies.txt").write_text("4")
    interrupted.run(*SAVE, "-s")
    resumed = interrupted.run(*SAVE, "-s", "--devperf-resume")
    closed = re.findall(r"closed (test_\w)", resumed.stdout.str())
    assert closed == ["test_a", "test_b"]
    outcomes = resumed.parseoutcomes()
    assert (outcomes["passed"], outcomes["failed"]) == (4, 2)
    assert ("errors" in outcomes) is (end != "pass")


KILLED = """
import os, pathlib, signal, time
HERE = pathlib.Path(__file__).parent
def work(): return sum(range(100))
def test_first(devperf): devperf(work)
def test_killed(devperf):
    devperf(work)
    if os.environ.get("PYTEST_DEVPERF_PROCESS") == "1" and (HERE / "parent.txt").exists():
        parent = int((HERE / "parent.txt").read_text())
        (HERE / "parent.txt").unlink()
        os.kill(parent, signal.SIGKILL)
        time.sleep(3600)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals as POSIX knows them")
@pytest.mark.usefixtures("untraced")
def test_a_session_on_this_machine_that_is_killed_runs_only_what_is_missing(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it=KILLED)
    words = ["--devperf", "--devperf-json=run.json", "--devperf-target=host", "--devperf-cooldown=off"]
    words += [
        "--devperf-accept=contended",
        "--devperf-processes=3",
        "--devperf-rounds=3",
        "--devperf-min-rounds=3",
        "--devperf-iterations=5",
    ]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    start = [
        sys.executable,
        "-c",
        "import os, pathlib, pytest, sys\n"
        "pathlib.Path('parent.txt').write_text(str(os.getpid()))\nsys.exit(pytest.main(sys.argv[1:]))",
    ]
    killed = subprocess.run(
        [*start, "-p", "pytest_devperf.plugin", *words], cwd=suite.path, env=environment, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(_logs(suite)) == 1
    resumed = suite.run_here("--devperf-resume", *words)
    assert resumed.ret == pytest.ExitCode.OK, resumed.stdout.str() + resumed.stderr.str()
    for case in suite.cases().values():
        assert case["metrics"][0]["process"] == [0, 1, 2]
    assert _logs(suite) == []

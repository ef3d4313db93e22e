"""A run that is ended keeps nothing, harms no baseline, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from waiting import has_ended, running, until

if TYPE_CHECKING:
    from conftest import Suite

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals as POSIX knows them"),
    pytest.mark.usefixtures("usual_signals", "untraced"),
]

WAITING = """
import os, pathlib, time
START = os.environ.get("PYTEST_DEVPERF_PROCESS", "first")
def work(): pass
def test_first(devperf): devperf(work)
def test_waits(devperf):
    devperf(work)
    if START == {where!r}:
        here = pathlib.Path(__file__).with_name("pid.txt")
        here.with_suffix(".part").write_text(str(os.getpid()))
        here.with_suffix(".part").rename(here)
        time.sleep(3600)
"""


def _interrupted(suite: Suite, where: str, number: int, *more: str) -> tuple[int, str, int]:
    """Run, signal pytest's own process while a start waits; give exit code, output, the waiting pid."""
    suite.pytester.makepyfile(test_it=WAITING.format(where=where))
    words = ["--devperf-save=base", "--devperf-target=host", "--devperf-processes=2", "--devperf-rounds=2"]
    words += ["--devperf-iterations=5", "--devperf-cooldown=off", *more]
    plugins = ["-p", "pytest_devperf.plugin"]
    output = suite.path / "output.txt"
    with (
        output.open("wb") as file,
        running(
            [sys.executable, "-m", "pytest", *plugins, *words],
            cwd=suite.path,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        until(lambda: (suite.path / "pid.txt").exists() or process.poll() is not None)
        assert process.poll() is None, output.read_text()
        pid = int((suite.path / "pid.txt").read_text())
        process.send_signal(number)
        code = process.wait()
    return code, output.read_text(), pid


@pytest.mark.parametrize("where", ["first", "1"])
def test_ctrl_c_saves_nothing_and_ends_with_pytests_own_code(suite: Suite, where: str) -> None:
    code, output, pid = _interrupted(suite, where, signal.SIGINT)
    assert code == pytest.ExitCode.INTERRUPTED
    assert suite.saved() == []
    assert "pending" in output
    assert "saved as" not in output
    until(lambda: has_ended(pid))


def test_ctrl_c_leaves_a_document_of_the_cases_that_were_finished(suite: Suite) -> None:
    _, output, _ = _interrupted(suite, "1", signal.SIGINT, "--devperf-json=run.json", "--devperf-order=sequential")
    assert list(suite.cases()) == ["test_it.py::test_first"]
    assert suite.document()["runs"][0]["unfinished"] == ["test_it.py::test_waits"]
    assert "run.json got 1 of 2 cases: the session was ended before the others" in output


def test_a_baseline_outlives_an_interrupted_save(suite: Suite) -> None:
    suite.pytester.makepyfile(test_it="def work(): pass\ndef test_first(devperf): devperf(work)")
    suite.run("--devperf-save=base")
    before = {path: path.read_bytes() for path in suite.saved()}
    conftest = suite.path / "conftest.py"
    conftest.unlink()
    _interrupted(suite, "1", signal.SIGINT)
    assert {path: path.read_bytes() for path in suite.saved()} == before


@pytest.mark.parametrize("detached", [False, True])
def test_a_terminated_run_ends_its_interpreters_and_saves_nothing(suite: Suite, *, detached: bool) -> None:
    if detached:  # as `nohup pytest &` starts it; the fixture puts the handlers back
        for ignored in (signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
    code, _, pid = _interrupted(suite, "1", signal.SIGTERM)
    assert code == 128 + signal.SIGTERM
    assert suite.saved() == []
    until(lambda: has_ended(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux notifies a process of its parent's death at once")
def test_an_interpreter_ends_with_a_parent_that_is_killed(suite: Suite) -> None:
    code, _, pid = _interrupted(suite, "1", signal.SIGKILL)
    assert code == -signal.SIGKILL
    until(lambda: has_ended(pid))
    assert suite.saved() == []

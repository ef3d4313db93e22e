"""Programs on the host that are timed as a whole, what they leave running, and what they take of the memory."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest
from waiting import has_ended, until

from pytest_devperf.case.workload import WHOLE_TIME, Command
from pytest_devperf.errors import CaseError
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.host.target import HostTarget
from pytest_devperf.targets.process_group import end_left

TARGET = HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))

MIB = 1 << 20

posix = pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups as POSIX knows them")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads files of the Linux kernel")


class Stepping:
    """A clock that moves by one second with every read."""

    def __init__(self) -> None:
        self.ns = 0

    def now_ns(self) -> int:
        self.ns += 1_000_000_000
        return self.ns

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing waits")


def python(source: str, **fields: object) -> Command:
    return Command(argv=(sys.executable, "-c", textwrap.dedent(source)), **fields)


def test_a_whole_program_gives_one_time_from_its_start_to_its_end():
    target = HostTarget(device=Device(kind="host"), clock=Stepping(), look=lambda: Context(at_ns=0))

    with target.start(python("print('no number')", read=WHOLE_TIME), 0) as runner:
        assert list(runner.run(30, 1)) == [1_000_000_000]
        assert runner.result() == "no number\n"


def test_a_whole_program_does_its_work_once_and_is_warmed_by_one_start(tmp_path):
    command = python(
        f"""
        import os
        with open({str(tmp_path / "starts")!r}, "a") as file:
            print(os.environ["DEVPERF_ITERATIONS"], os.environ["DEVPERF_WARMUP"], file=file)
        """,
        read=WHOLE_TIME,
    )
    with TARGET.start(command, 0) as runner:
        runner.warm_up(3)
        runner.run(30, 1)
        runner.run(30, 1)
    with TARGET.start(command, 0) as runner:
        runner.warm_up(0)

    assert (tmp_path / "starts").read_text() == "1 0\n" * 3


def test_a_whole_program_that_fails_fails_the_case():
    command = python("import sys; print('half'); sys.exit(3)", read=WHOLE_TIME)

    with TARGET.start(command, 0) as runner, pytest.raises(CaseError, match=r"exit code 3.*half"):
        runner.run(1, 1)


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path):
    noted = tmp_path / "pid"
    command = Command(
        argv=("sh", "-c", f"sleep 60 & echo $! > {noted}; wait"), read=WHOLE_TIME, timeout_s=1.0
    )  # long enough for the shell to start its child on a loaded machine; nothing is judged by it

    with TARGET.start(command, 0) as runner, pytest.raises(CaseError, match="took longer than 1 s"):
        runner.run(1, 1)

    if noted.exists():
        until(lambda: has_ended(int(noted.read_text() or os.getpid())))


@posix
@pytest.mark.parametrize("stubborn", ["", "trap '' TERM; "], ids=["asked", "made to"])
def test_what_a_program_leaves_running_is_named_and_ended(tmp_path, monkeypatch, stubborn):
    monkeypatch.setattr("pytest_devperf.targets.process_group.GRACE_S", 0.1)
    noted = tmp_path / "pid"
    command = Command(argv=("sh", "-c", f"{stubborn}sleep 293 & echo $! > {noted}; echo 1200"))

    with TARGET.start(command, 0) as runner:
        assert list(runner.run(1, 1)) == [1200]
        assert "sleep 293" in runner.round_context().left

    until(lambda: has_ended(int(noted.read_text())))


@posix
def test_a_program_that_leaves_nothing_has_no_caution():
    with TARGET.start(Command(argv=("echo", "5")), 0) as runner:
        runner.run(1, 1)
        assert runner.round_context().left is None


@posix
def test_of_many_left_running_some_are_named():
    leader = subprocess.Popen(
        ["sh", "-c", "for each in 1 2 3 4 5; do sleep 29$each & done; echo; wait"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    leader.stdout.readline()
    leader.kill()
    leader.wait()

    left = end_left(leader.pid)

    leader.stdout.close()
    assert left.count("sleep 29") == 3
    assert left.endswith(" and 2 more")
    assert not [each for each in psutil.pids() if _group(each) == leader.pid and not has_ended(each)]


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


@needs_linux
def test_the_peak_of_a_program_is_exact_however_much_the_tests_hold():
    ours = bytearray(b"x") * (300 * MIB)
    with TARGET.start(python(f"x = bytearray(b'x') * {50 * MIB}", read=WHOLE_TIME), 0) as runner:
        large = [runner.memory(1).peak for _ in range(2)]
    with TARGET.start(python("", read=WHOLE_TIME), 0) as runner:
        small = runner.memory(1).peak

    assert ours
    assert all(50 * MIB < peak < 90 * MIB for peak in large)
    assert max(large) - min(large) < MIB
    assert 40 * MIB < min(large) - small < 60 * MIB


@needs_linux
def test_a_program_that_is_gone_at_once_still_has_a_size():
    with TARGET.start(Command(argv=("true",), read=WHOLE_TIME), 0) as runner:
        assert runner.memory(1).peak >= MIB


@posix
def test_a_watched_program_sees_its_own_arguments_environment_and_folder(tmp_path):
    command = Command(
        argv=(sys.executable, "-c", "import os, sys; print(len(sys.argv[1]), len(os.environ['A'])); print(os.getcwd())",
              "ä\udcff"),
        environment={"A": "ö"},
        folder=str(tmp_path),
        read=lambda text: [float(part) for part in text.split()[:2]] if text.split()[2] == str(tmp_path) else [],
    )  # fmt: skip

    with TARGET.start(command, 0) as runner:
        assert runner.memory(1).peak > 0


@posix
@pytest.mark.parametrize(
    ("ends", "words"), [("sys.exit(3)", "exit code 3"), ("os.kill(os.getpid(), 9)", "signal SIGKILL")]
)
def test_a_watched_program_that_fails_fails_as_itself(ends, words):
    with (
        TARGET.start(python(f"import os, sys; {ends}", read=WHOLE_TIME), 0) as runner,
        pytest.raises(CaseError, match=words),
    ):
        runner.memory(1)


@needs_linux
def test_a_peak_is_read_if_no_watching_program_can_be_started(monkeypatch):
    monkeypatch.delattr(os, "posix_spawn")
    command = python(f"import time; x = bytearray(b'x') * {50 * MIB}; time.sleep(0.2)", read=WHOLE_TIME)

    with TARGET.start(command, 0) as runner:
        assert 50 * MIB < runner.memory(1).peak < 100 * MIB


def test_the_watching_program_needs_nothing_of_this_package():
    source = Path(__file__).parents[2].joinpath("pytest_devperf/targets/host/memory/watcher.py").read_text()

    assert "pytest_devperf" not in source
    assert "import psutil" not in source

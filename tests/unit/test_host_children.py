"""Processes that a measured call starts, and their memory."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_devperf.case.workload import Call
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.host.memory import children
from pytest_devperf.targets.host.memory.children import ChildrenMemory
from pytest_devperf.targets.host.target import HostTarget

TARGET = HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))

MIB = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel lists a process's children on Linux alone")

TAKES = "x = bytearray(b'x') * ({size} << 20)"


def memory_of(function):
    with TARGET.start(Call(function=function, memory=True), 0) as runner:
        return runner.memory(1)


@pytest.mark.parametrize("size", [20, 150])
def test_the_memory_of_a_child_is_counted(size):
    memory = memory_of(lambda: subprocess.run([sys.executable, "-c", TAKES.format(size=size)], check=True))

    assert size * MIB < memory.peak - memory.baseline < (size + 60) * MIB
    assert memory.disposed - memory.baseline < 10 * MIB
    assert not memory.unseen_children


def test_the_memory_of_a_child_of_a_child_is_counted():
    inner = [sys.executable, "-c", TAKES.format(size=100)]
    memory = memory_of(lambda: subprocess.run(["sh", "-c", '"$@"; true', "sh", *inner], check=True))

    assert memory.peak - memory.baseline > 100 * MIB


def test_a_child_that_stays_is_part_of_what_is_loaded():
    started = []

    def start():
        if started:
            return
        child = subprocess.Popen(
            [sys.executable, "-c", TAKES.format(size=60) + "; print(flush=True); input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(child)
        child.stdout.readline()

    memory = memory_of(start)
    started[0].communicate(b"\n")

    assert 60 * MIB < memory.loaded - memory.baseline < 110 * MIB
    assert memory.peak - memory.baseline < 110 * MIB  # it counts once


def test_children_that_were_there_before_do_not_count():
    with subprocess.Popen(["sleep", "60"]) as other:
        watched = ChildrenMemory(os.getpid())
        assert watched.size_bytes() == 0
        with watched.watched():
            pass
        other.kill()

    assert (watched.peak_bytes, watched.unseen) == (0, False)


def test_a_child_that_nobody_saw_is_said_to_be_uncounted(monkeypatch):
    monkeypatch.setattr(ChildrenMemory, "_start", lambda _: None)
    ours = bytearray(b"x") * (64 * MIB)  # more than the child: what the kernel counted of it says nothing
    watched = ChildrenMemory(os.getpid())
    with watched.watched():
        subprocess.run(["true"], check=True)

    assert ours
    assert watched.unseen


def test_a_watcher_that_is_killed_costs_nothing_but_what_it_saw(monkeypatch):
    watched = ChildrenMemory(os.getpid())
    monkeypatch.setattr(children, "WATCHER", ("sh", "-c", "echo ready; exit 1"))
    with watched.watched():
        subprocess.run(["true"], check=True)

    assert watched.peak_bytes >= 0


def test_no_thread_watches_a_call_that_forks():
    threads = []

    def fork():
        import threading

        threads.append(threading.active_count())
        if (pid := os.fork()) == 0:
            os._exit(0)
        os.waitpid(pid, 0)

    import threading

    before = threading.active_count()
    memory_of(fork)

    assert set(threads) == {before}

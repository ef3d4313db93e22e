"""Processes that a measured call starts, and their memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pytest_devperf.case.workload import Call
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.host.memory import children, watcher
from pytest_devperf.targets.host.memory.children import ChildrenMemory
from pytest_devperf.targets.host.target import HostTarget

TARGET = HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))

MIB = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel lists a process's children on Linux alone")

TAKES = "x = bytearray(b'x') * ({size} << 20)"


def memory_of(function):
    with TARGET.start(Call(function=function, memory=True), 0) as runner:
        return runner.memory(1)


def takes(size):
    return [sys.executable, "-c", TAKES.format(size=size)]


@pytest.mark.parametrize("size", [20, 150])
def test_the_memory_of_a_child_is_counted_or_reported_as_missed(size):
    """What a child takes just before its end can be missed on a busy machine, if a larger one ran before."""
    subprocess.run(takes(200), check=True)
    memory = memory_of(lambda: subprocess.run(takes(size), check=True))

    assert memory.unseen_children or size * MIB < memory.peak - memory.baseline
    assert memory.peak - memory.baseline < (size + 60) * MIB
    assert memory.disposed - memory.baseline < 10 * MIB


FRESH = """
import json, os, subprocess, sys
from pytest_devperf.targets.host.memory.children import ChildrenMemory
ChildrenMemory._start = lambda _: None
children = ChildrenMemory(os.getpid())
with children.watched():
    subprocess.run(sys.argv[1:], check=True)
print(json.dumps([children.peak_bytes, children.unseen]))
"""


@pytest.mark.parametrize("before", [(), ("sh", "-c", '"$@"; true', "sh")], ids=["child", "child of a child"])
def test_the_kernel_alone_knows_the_peak_of_a_child_larger_than_all_before(before):
    fresh = subprocess.run(
        [sys.executable, "-c", FRESH, *before, *takes(150)], check=True, capture_output=True, text=True
    )
    peak_bytes, unseen = json.loads(fresh.stdout)

    assert 150 * MIB < peak_bytes < 210 * MIB
    assert not unseen


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


def test_an_unseen_child_is_reported_as_uncounted(monkeypatch):
    monkeypatch.setattr(ChildrenMemory, "_start", lambda _: None)
    ours = bytearray(b"x") * (64 * MIB)  # more than the child: the kernel's counter then shows nothing about it
    watched = ChildrenMemory(os.getpid())
    with watched.watched():
        subprocess.run(["true"], check=True)

    assert ours
    assert watched.unseen


def test_a_child_that_seems_a_little_larger_than_its_parent_was_only_started_by_it(monkeypatch):
    """The system's size of a child begins with its parent's, and both are counted inexactly."""
    monkeypatch.setattr(children.MemoryReader, "peak_bytes", lambda _: 100 * MIB)
    ends = iter([children._Ended((1,), 0), children._Ended((2,), 100 * MIB + 4096)])
    monkeypatch.setattr(children, "_read_ended", lambda: next(ends))
    monkeypatch.setattr(ChildrenMemory, "_start", lambda _: None)
    watched = ChildrenMemory(os.getpid())
    with watched.watched():
        pass

    assert (watched.peak_bytes, watched.unseen) == (0, True)


def test_a_watcher_that_is_killed_costs_nothing_but_what_it_saw(monkeypatch):
    watched = ChildrenMemory(os.getpid())
    monkeypatch.setattr(children, "WATCHER", ("sh", "-c", "echo ready; exit 1"))
    with watched.watched():
        subprocess.run(["true"], check=True)

    assert watched.peak_bytes >= 0


@pytest.mark.parametrize(("answer", "unseen"), [("2048 1 0", False), ("2048 1 1", True), ("0 0 0", True)])
def test_a_child_that_was_not_read_just_before_its_end_is_reported_as_uncounted(monkeypatch, answer, unseen):
    ours = bytearray(b"x") * (64 * MIB)  # more than the child: the kernel's counter then shows nothing about it
    watched = ChildrenMemory(os.getpid())
    monkeypatch.setattr(children, "WATCHER", ("sh", "-c", f"echo ready; read line; echo {answer}"))
    with watched.watched():
        subprocess.run(["true"], check=True)

    assert ours
    assert watched.peak_bytes == int(answer.split()[0]) * 1024
    assert watched.unseen is unseen


@pytest.mark.parametrize(("ended_s", "late"), [(0.004, False), (0.006, True)])
def test_a_watcher_knows_whether_it_looked_just_before_an_end(monkeypatch, ended_s, late):
    alive, now_s = [4711], [0.0]
    monkeypatch.setattr(watcher, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    monkeypatch.setattr(watcher, "_descendants", lambda pid: dict.fromkeys(alive, pid))
    monkeypatch.setattr(watcher, "_read_peak_kib", lambda pid: 2048 if pid == 4711 else 9216)
    tree = watcher.Tree(os.getpid(), set())
    tree.look()
    now_s[0] = 1.0  # that a child which goes on was looked at long ago does no harm
    tree.look()
    assert not tree.late
    now_s[0] += ended_s
    alive.clear()
    tree.look()

    assert (tree.peak_kib, tree.seen, tree.late) == (2048, {4711}, late)


def test_a_process_that_has_not_loaded_its_program_yet_does_not_count(monkeypatch):
    """It uses the memory of the process that started it, which is no child's."""
    peaks_kib = {os.getpid(): 250_000, 4711: 250_000}
    monkeypatch.setattr(watcher, "_descendants", lambda pid: {4711: pid})
    monkeypatch.setattr(watcher, "_read_peak_kib", peaks_kib.get)
    tree = watcher.Tree(os.getpid(), set())
    tree.look()
    assert (tree.peak_kib, tree.seen) == (0, set())

    peaks_kib[4711] = 2048
    tree.look()

    assert (tree.peak_kib, tree.seen) == (2048, {4711})


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

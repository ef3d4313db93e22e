"""Hardware counters, tried with an event that every kernel counts in software, and what is shown of them."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from pytest_devperf.case.workload import Call
from pytest_devperf.measure.round import Round, StartResult
from pytest_devperf.metric import time_metric
from pytest_devperf.record.measurement import time_measurement
from pytest_devperf.report.detail import counters_line
from pytest_devperf.sensor.host import counters
from pytest_devperf.sensor.host.counters import Counters, Event, open_event, words_of
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.host.timing_loop import TimingLoop

TASK_CLOCK = Event("task_clock_ns", 1, 1)
"""PERF_TYPE_SOFTWARE with PERF_COUNT_SW_TASK_CLOCK: the CPU time of the thread, which needs no hardware."""


@pytest.fixture
def counted() -> Event:
    """An event that can be counted here; some containers forbid all."""
    try:
        os.close(open_event(TASK_CLOCK))
    except OSError as error:
        pytest.skip(words_of(error))
    return TASK_CLOCK


def work() -> int:
    return sum(range(20_000))


def test_a_block_is_counted_and_every_file_is_closed(counted: Event) -> None:
    made = Counters((counted, counted._replace(name="again")))
    before = len(list(Path("/proc/self/fd").iterdir()))
    with made.counting():
        work()
    assert made.problem is None
    assert set(made.counts) == {"task_clock_ns", "again"}
    assert all(count > 0 for count in made.counts.values())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_an_event_that_does_not_exist_is_a_reason_and_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counters((Event("nothing", 77, 1),))
    with made.counting():
        work()
    assert made.counts == {}
    assert made.problem is not None
    monkeypatch.setattr(counters, "open_event", lambda _: pytest.fail("tried again"))
    with made.counting():
        work()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOENT, "this machine has no hardware counters"),
        (errno.EACCES, "the system forbids"),
        (errno.EPERM, "the system forbids"),
        (errno.ENOSYS, "counters cannot be read"),
        (errno.EMFILE, "counters cannot be read"),
    ],
)
def test_what_the_kernel_refuses_is_a_sentence(monkeypatch: pytest.MonkeyPatch, code: int, words: str) -> None:
    class Refusing:
        def __call__(self, *_: object) -> int:
            counters.ctypes.set_errno(code)
            return -1

    monkeypatch.setattr(counters, "_system_call", Refusing)
    monkeypatch.setattr(counters.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(counters.sys, "platform", "linux")
    made = Counters()
    with made.counting():
        work()
    assert made.counts == {}
    assert made.problem is not None
    assert made.problem.startswith(words)


@pytest.mark.parametrize(("platform", "machine"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "riscv64")])
def test_other_systems_count_nothing(monkeypatch: pytest.MonkeyPatch, platform: str, machine: str) -> None:
    monkeypatch.setattr(counters.sys, "platform", platform)
    monkeypatch.setattr(counters.platform, "machine", lambda: machine)
    made = Counters()
    with made.counting():
        work()
    assert (made.counts, made.problem) == ({}, "counters cannot be read (no perf events on this system)")


def test_counters_that_were_shared_or_closed_give_nothing(counted: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counters((counted,))
    monkeypatch.setattr(counters.os, "read", lambda *_: counters.COUNT.pack(100, 2_000, 1_000))
    with made.counting():
        work()
    assert made.counts == {}
    monkeypatch.setattr(counters.os, "read", lambda *_: b"")
    with made.counting():
        work()
    assert made.counts == {}


def run(call: Call, *, iterations: int) -> TimingLoop:
    loop = TimingLoop(call, SystemClock.now_ns)
    loop._counters = Counters((TASK_CLOCK,))
    samples, fill = loop.prepare(iterations, 1)
    with loop.timing():
        fill()
    loop.finish(samples, 1)
    return loop


def test_a_round_of_calls_is_counted_unless_a_setup_runs_within_it(counted: Event) -> None:
    assert run(Call(function=work), iterations=3).round_context.counters[counted.name] > 0
    assert run(Call(function=work, setup=work), iterations=3).round_context.counters == {}


def measured(*counts: int | None, inner_loops: int = 2):
    rounds = tuple(
        Round(process=0, samples_ns=(1e6,) * 5, counters={} if count is None else {"cycles": count}) for count in counts
    )
    result = StartResult(
        rounds=rounds, iterations=5, inner_loops=inner_loops, total_rounds=len(rounds), tick_ns=None, stop="done"
    )
    return time_measurement(time_metric("latency"), [result])


def test_counts_are_those_of_one_call_and_are_no_metric() -> None:
    held = measured(20_000, None, 30_000)
    assert held.counters == {"cycles": (2000.0, None, 3000.0)}
    assert counters_line(held) == "latency: 2,500 cycles per call by the hardware's counters"
    assert counters_line(measured(None, None)) == ""

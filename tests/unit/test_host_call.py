"""Python calls on the host, timed with a clock that only moves when the workload moves it."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.case.workload import App, Call
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.host.call import AwaitedCallRunner
from pytest_devperf.targets.host.loop_source import LoopShape, format_loop
from pytest_devperf.targets.host.meter import ANCHOR_IDENTITY, parse_waited_ns, tick_ns
from pytest_devperf.targets.host.target import HostTarget
from pytest_devperf.targets.protocol import Answering, ContextReporting, Looping, Ticking


class Clock:
    """Time that advances by the durations that the workload reports."""

    def __init__(self) -> None:
        self.ns = 0

    def now_ns(self) -> int:
        return self.ns

    def sleep(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def target(clock: Clock) -> HostTarget:
    return HostTarget(device=Device(kind="host"), clock=clock, look=lambda: Context(at_ns=clock.ns))


def test_a_call_is_timed_once_per_iteration(target, clock):
    def work():
        clock.ns += 70

    with target.start(Call(function=work), 0) as runner:
        samples = runner.run(4, 1)

    assert list(samples) == [70, 70, 70, 70]
    assert all(isinstance(sample, int) for sample in samples)


def test_inner_loops_are_divided_out(target, clock):
    durations = iter([1000, *range(1, 7)])

    def work():
        clock.ns += next(durations)

    with target.start(Call(function=work), 0) as runner:
        samples = runner.run(2, 3)

    assert list(samples) == [2.0, 5.0]


def test_arguments_arrive_as_they_were_given(target):
    seen = []

    def work(*args, **kwargs):
        seen.append((args, kwargs))

    strange = {"class": 2, "a b": 3, "é": 4, "function": 5, "samples": 6, "__debug__": 7}
    call = Call(function=work, args=(1, "two"), kwargs={"key": 1, **strange})
    with target.start(call, 0) as runner:
        runner.run(2, 1)
        runner.run(1, 2)

    assert seen == [((1, "two"), {"key": 1, **strange})] * 5


def test_the_result_is_the_first_calls_and_that_call_is_made_once(target):
    results = iter(range(100))

    with target.start(Call(function=lambda: next(results)), 0) as runner:
        first = runner.result()
        runner.run(3, 1)
        again = runner.result()

    assert (first, again, next(results)) == (0, 0, 4)


def test_setup_runs_untimed_before_every_iteration_and_sync_within_the_timing(target, clock):
    events = []

    def spend(word, ns):
        events.append(word)
        clock.ns += ns
        return word

    call = Call(
        function=lambda: spend("call", 10),
        setup=lambda: spend("setup", 1000),
        sync=lambda result: spend(f"sync {result}", 5),
    )
    with target.start(call, 0) as runner:
        events.clear()
        samples = runner.run(2, 1)

    assert list(samples) == [15, 15]
    assert events == ["setup", "call", "sync call"] * 2


def test_a_call_with_a_setup_cannot_be_repeated_within_one_iteration(target):
    with target.start(Call(function=len, args=("",), setup=list), 0) as runner:
        assert isinstance(runner, Looping)
        assert not runner.loops
        with pytest.raises(CaseError, match="cannot be repeated"):
            runner.run(1, 10)


def test_the_garbage_collector_is_still_while_timing_and_as_it_was_afterwards(target):
    states = []
    call = Call(function=lambda: states.append(gc.isenabled()))

    with target.start(call, 0) as runner:
        states.clear()
        runner.run(2, 1)

    assert states == [False, False]
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off(target):
    gc.disable()
    try:
        with target.start(Call(function=int), 0) as runner:
            runner.run(1, 1)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_is_back_after_a_workload_that_raises(target):
    calls = iter([0, 1])

    with target.start(Call(function=lambda: 1 / (next(calls) - 1)), 0) as runner, pytest.raises(ZeroDivisionError):
        runner.run(3, 1)

    assert gc.isenabled()


def test_a_tracer_is_suspended_while_timing_and_back_afterwards(target):
    seen = []

    def trace(frame, event, _argument):
        seen.append((frame.f_code.co_name, event))
        return trace

    def profile(frame, event, _argument):
        seen.append((frame.f_code.co_name, event))

    def work():
        return 1

    before = sys.gettrace(), sys.getprofile()
    try:
        with target.start(Call(function=work), 0) as runner:
            sys.settrace(trace)
            sys.setprofile(profile)
            runner.run(3, 1)
            after = sys.gettrace(), sys.getprofile()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])

    assert "run" in {name for name, _ in seen}
    assert "work" not in {name for name, _ in seen}
    assert after == (trace, profile)


def test_what_a_workload_raises_in_its_first_call_reaches_the_test(target):
    with pytest.raises(ZeroDivisionError), target.start(Call(function=lambda: 1 / 0), 0):
        pass


def test_a_generator_given_to_a_plain_call_is_refused_with_what_to_use(target):
    def items():
        yield 1

    with pytest.raises(CaseError, match=r"use devperf\.stream\("), target.start(Call(function=items), 0):
        pass


def test_an_async_generator_given_to_a_plain_call_is_refused_with_what_to_use(target):
    async def items():
        yield 1

    with pytest.raises(CaseError, match=r"use devperf\.stream\("), target.start(Call(function=items), 0):
        pass


def test_a_coroutine_given_to_a_plain_call_is_refused_with_what_to_use(target):
    async def work():
        pass

    with pytest.raises(CaseError, match="await devperf"), target.start(Call(function=work), 0):
        pass


def test_only_the_awaited_call_is_timed(target, clock):
    async def work(ns):
        await asyncio.sleep(0)
        clock.ns += ns
        return ns

    with target.start(Call(function=work, args=(40,), shape="coroutine"), 0) as runner:
        assert list(runner.run(3, 1)) == [40, 40, 40]
        assert list(runner.run(1, 4)) == [40.0]
        assert runner.result() == 40


def test_every_process_start_has_a_separate_loop(target):
    loops = []

    async def work():
        loops.append(asyncio.get_running_loop())

    with target.start(Call(function=work, shape="coroutine"), 0) as runner:
        runner.run(2, 1)

    assert len(set(map(id, loops))) == 1
    assert loops[0].is_closed()


def test_tasks_and_threads_that_a_workload_leaves_are_wound_down(target):
    left = []

    async def work():
        left.append(asyncio.ensure_future(asyncio.sleep(60)))
        await asyncio.to_thread(int)

    with target.start(Call(function=work, shape="coroutine"), 0) as runner:
        runner.run(2, 1)

    assert all(task.cancelled() for task in left)


def test_what_is_no_stream_is_refused(target):
    with (
        pytest.raises(CaseError, match="int, which is not a stream"),
        target.start(Call(function=int, shape="stream"), 0),
    ):
        pass


def test_a_coroutine_shape_that_gives_nothing_to_await_is_refused(target):
    with pytest.raises(CaseError, match="nothing to await"), target.start(Call(function=int, shape="coroutine"), 0):
        pass


def test_an_awaited_setup_and_sync_are_awaited(target, clock):
    async def spend(ns):
        await asyncio.sleep(0)
        clock.ns += ns

    async def setup():
        await spend(1000)

    async def sync(_result):
        await spend(5)

    call = Call(function=spend, args=(10,), setup=setup, sync=sync, shape="coroutine")
    with target.start(call, 0) as runner:
        assert list(runner.run(2, 1)) == [15, 15]


def test_an_awaited_call_is_timed_in_the_loop_that_runs(target, clock):
    loops = set()

    async def work():
        loops.add(asyncio.get_running_loop())
        clock.ns += 30
        return "done"

    async def test():
        call = Call(function=work, shape="coroutine", memory=True)
        async with AwaitedCallRunner(call, clock=clock) as runner:
            samples = await runner.run(2, 1)
            return list(samples), runner.result(), await runner.memory(1), {asyncio.get_running_loop()} == loops

    samples, result, memory, same_loop = asyncio.run(test())
    assert (samples, result, same_loop) == ([30, 30], "done", True)
    assert memory.peak >= memory.baseline > 0


def stream_of(clock: Clock, *steps: int) -> Any:
    def items() -> Iterator[int]:
        for step in steps[:-1]:
            clock.ns += step
            yield step
        clock.ns += steps[-1]

    return items


def test_a_stream_is_timed_to_its_first_item_per_item_and_to_its_end(target, clock):
    with target.start(Call(function=stream_of(clock, 100, 10, 20, 6), shape="stream"), 0) as runner:
        samples = runner.run(2, 1)
        also = runner.round_context().also
        result = runner.result()

    assert list(samples) == [136, 136]
    assert also == {"first_item": (100, 100), "per_item": (18.0, 18.0)}
    assert result == [100, 10, 20]


def test_a_stream_of_one_item_has_no_time_per_item(target, clock):
    with target.start(Call(function=stream_of(clock, 100, 5), shape="stream"), 0) as runner:
        runner.run(1, 1)
        assert set(runner.round_context().also) == {"first_item"}


def test_a_stream_without_items_is_an_error_of_the_case(target):
    with (
        target.start(Call(function=lambda: iter(()), shape="stream"), 0) as runner,
        pytest.raises(CaseError, match="yielded no item"),
    ):
        runner.run(1, 1)


def test_an_asynchronous_stream_is_timed_alike(target, clock):
    async def items():
        for step in (100, 10, 20):
            await asyncio.sleep(0)
            clock.ns += step
            yield step

    with target.start(Call(function=items, shape="stream"), 0) as runner:
        assert list(runner.run(2, 1)) == [130, 130]
        assert runner.round_context().also == {"first_item": (100, 100), "per_item": (15.0, 15.0)}
        assert runner.result() == [100, 10, 20]


def test_the_round_context_has_cpu_time_wall_time_and_waiting():
    clock = SystemClock()
    target = HostTarget(device=Device(kind="host"), clock=clock, look=lambda: Context(at_ns=0))

    with target.start(Call(function=sum, args=(range(100_000),)), 0) as runner:
        samples = runner.run(3, 1)
        assert isinstance(runner, ContextReporting)
        round_context = runner.round_context()

    assert round_context.wall_ns is not None
    assert round_context.wall_ns >= sum(samples)
    assert round_context.cpu_ns is not None
    assert round_context.cpu_ns > 0
    assert round_context.waited_ns is None or round_context.waited_ns >= 0
    assert not round_context.slept


def test_a_runner_knows_its_step_and_returns_its_result(target):
    with target.start(Call(function=int), 0) as runner:
        assert isinstance(runner, Ticking)
        assert isinstance(runner, Answering)
        assert runner.load_ns is None


def test_the_step_of_a_clock_is_its_smallest_real_difference():
    reads = iter([0, 0, 50, 100, 230, 230, *range(1000, 10**9, 1000)])

    assert tick_ns(lambda: next(reads)) == 50


def test_a_clock_that_stands_still_while_a_call_takes_long_fails_its_case(target, clock, monkeypatch):
    seconds = iter(range(0, 1000, 4))
    monkeypatch.setattr(SystemClock, "now_ns", staticmethod(lambda: next(seconds) * 10**9))
    with target.start(Call(function=int), 0) as runner:
        runner.run(1, 1)
        monkeypatch.setattr("pytest_devperf.targets.host.timing_loop.STILL_NS", 3 * 10**9)
        with pytest.raises(CaseError, match=r"the session's clock stood still while int ran for 4 s"):
            runner.run(1, 1)


def test_a_clock_that_only_moves_by_sleeping_has_a_step_of_one(clock):
    assert tick_ns(clock.now_ns) == 1


def test_the_step_of_a_clock_is_measured_without_the_tools_that_see_each_read():
    seen = []
    reads = iter(range(0, 10**6, 50))

    def now_ns():
        return next(reads)

    sys.setprofile(lambda frame, _event, _argument: seen.append(frame.f_code.co_name))
    try:
        step_ns = tick_ns(now_ns)
    finally:
        sys.setprofile(None)

    assert step_ns == 50
    assert "now_ns" not in seen


def test_a_kernel_that_does_not_count_waiting_is_not_known():
    assert parse_waited_ns(b"0 0 0\n") is None
    assert parse_waited_ns(b"") is None
    assert parse_waited_ns(b"12 34 5\n") == 34


def test_the_anchor_is_work_of_fixed_size_and_named_in_every_look(target):
    real = HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))

    with real.start(Call(function=int), 0) as runner:
        assert runner.anchor() > 0
    assert target.look().anchor == ANCHOR_IDENTITY


def on_this_machine() -> HostTarget:
    return HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))


def test_the_memory_of_a_call_holds_one_result_and_what_further_calls_leave_behind():
    size = 64 << 20

    with on_this_machine().start(Call(function=lambda: b"x" * size, memory=True), 0) as runner:
        held = runner.result()
        memory = runner.memory(2)

    assert len(held) == size
    assert 0.9 * size < memory.peak - memory.baseline < 1.5 * size
    assert 0.9 * size < memory.loaded - memory.baseline < 1.5 * size
    assert memory.disposed - memory.baseline < 0.5 * size


def test_what_every_call_leaves_behind_is_leaked():
    size = 48 << 20  # more than malloc takes from memory that was freed before (M_MMAP_THRESHOLD, mallopt(3))
    kept = []

    with on_this_machine().start(Call(function=lambda: kept.append(b"x" * size), memory=True), 0) as runner:
        memory = runner.memory(2)

    assert memory.disposed - memory.baseline > 1.5 * size


def test_a_start_that_takes_no_memory_collects_no_garbage(target):
    class Cycle:
        def __init__(self):
            self.me = self

    gc.disable()  # else an allocation anywhere may set it off
    try:
        left = weakref.ref(Cycle())
        with target.start(Call(function=int), 0) as runner:
            assert runner.memory(1) is None

        assert left() is not None
    finally:
        gc.enable()


def test_an_app_is_skipped_with_the_reason(target):
    with pytest.raises(Unsupported, match=r"com\.example\.bench"):
        target.start(App(id="com.example.bench"), 0)


def test_the_loop_holds_nothing_but_the_call():
    source = format_loop(LoopShape(positional=1, keywords=("key",), inner=True))

    assert source.splitlines()[-5:] == [
        "        passes = repeat(None, loops)",
        "        started = clock()",
        "        for _ in passes:",
        "            function(a0, key=k0)",
        "        samples[index] = clock() - started",
    ]


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors as Linux lists them")
@pytest.mark.parametrize("shape", ["plain", "coroutine"])
def test_a_failing_call_leaks_no_descriptor(target, clock, shape):
    calls = iter(range(100))

    def work():
        if next(calls) % 3 != 1:
            raise ZeroDivisionError

    async def awaited():
        work()

    def fail():
        call = Call(function=work if shape == "plain" else awaited, shape=shape)
        with target.start(call, 0) as runner:
            runner.run(2, 1)

    async def fail_within_a_loop():
        async with AwaitedCallRunner(Call(function=awaited, shape="coroutine"), clock=clock) as runner:
            await runner.run(2, 1)

    before = open_files()
    for _ in range(4):
        with pytest.raises(ZeroDivisionError):
            fail()
        if shape == "coroutine":
            with pytest.raises(ZeroDivisionError):
                asyncio.run(fail_within_a_loop())

    assert open_files() == before


def profiled() -> Any:
    import cProfile

    return cProfile.Profile()


def test_a_profiler_without_a_function_is_suspended_and_back_afterwards(target):
    def work():
        return 1

    profile = profiled()
    with target.start(Call(function=work), 0) as runner:
        profile.enable()
        try:
            runner.run(3, 1)
            len("seen")
        finally:
            profile.disable()

    seen = {getattr(entry.code, "co_name", entry.code) for entry in profile.getstats()}
    assert "work" not in seen
    assert {"run", "<built-in method builtins.len>"} <= seen


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="Python 3.12 and later")
def test_a_tool_of_the_whole_interpreter_is_suspended_and_back_afterwards(target):
    seen = []

    def work():
        return 1

    tool = next(number for number in range(6) if sys.monitoring.get_tool(number) is None)
    started = sys.monitoring.events.PY_START
    sys.monitoring.use_tool_id(tool, "test")
    try:
        sys.monitoring.register_callback(tool, started, lambda code, _: seen.append(code.co_name))
        with target.start(Call(function=work), 0) as runner:
            sys.monitoring.set_events(tool, started)
            runner.run(3, 1)
            still = sys.monitoring.get_events(tool)
    finally:
        sys.monitoring.set_events(tool, 0)
        sys.monitoring.free_tool_id(tool)

    assert still == started
    assert "run" in seen
    assert "work" not in seen

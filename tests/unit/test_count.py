"""Counting without valgrind: what is asked of it, what it writes, forks, and paces."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf.case.workload import Call
from pytest_devperf.count import valgrind as finding
from pytest_devperf.count.callgrind import out_file, parse_total
from pytest_devperf.count.counter import Counter
from pytest_devperf.count.forks import ForkDied, hold_ballast, run_in_fork
from pytest_devperf.count.pace import LEAST_IR, REPETITIONS, SMALLEST_IR, Pace, pace_of
from pytest_devperf.count.requests import CODE, ClientRequests
from pytest_devperf.count.work import Work
from pytest_devperf.errors import TargetError, Unsupported
from pytest_devperf.session.running.counting import SessionCounting
from pytest_devperf.targets.awaited import run_now

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="valgrind counts on Linux")


@on_linux
@pytest.mark.skipif(os.uname().machine not in CODE if hasattr(os, "uname") else True, reason="an unknown processor")
def test_requests_without_valgrind_are_answered_by_their_default() -> None:
    requests = ClientRequests()
    assert not requests.answered
    assert [send() for send in (requests.start, requests.zero, requests.toggle, requests.dump, requests.stop)] == [
        0
    ] * 5


def test_a_counter_refuses_a_process_that_valgrind_does_not_run(tmp_path: Path) -> None:
    class Unanswered:
        answered = False

    with pytest.raises(TargetError, match="a process that valgrind does not run"):
        Counter(tmp_path, Unanswered())  # type: ignore[arg-type] # all that is asked of it


class FakeValgrind:
    """Counts what it is told to while it collects, and writes dumps as callgrind does."""

    answered = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._collecting = False
        self._dumps = 0
        self.ir = 0
        self.sent: list[str] = []

    def work(self, instructions: int) -> None:
        if self._collecting:
            self.ir += instructions

    def start(self) -> int:
        self.sent.append("start")
        return 0

    def stop(self) -> int:
        self.sent.append("stop")
        return 0

    def zero(self) -> int:
        self.ir = 0
        return 0

    def toggle(self) -> int:
        self._collecting = not self._collecting
        self.work(7)  # what a request itself takes
        return 0

    def dump(self) -> int:
        self._dumps += 1
        path = self._folder / f"callgrind.{os.getpid()}.{self._dumps}"
        path.write_text(f"events: Ir\nfn=(1) f\n1 {self.ir}\n\ntotals: {self.ir}\n", encoding="ascii")
        return 0


Counted = Callable[[Call], tuple[Pace, tuple[float, ...]]]


@pytest.fixture
def fake(tmp_path: Path) -> FakeValgrind:
    return FakeValgrind(tmp_path)


def count(fake: FakeValgrind, tmp_path: Path, call: Call, pace: Pace | None = None) -> tuple[Pace, tuple[float, ...]]:
    found = run_now(Counter(tmp_path, fake).count(call, pace, budget_s=60.0))  # type: ignore[arg-type] # as the real one
    return found.pace, found.instructions


def test_a_count_is_that_of_one_call_without_what_counting_takes(fake: FakeValgrind, tmp_path: Path) -> None:
    pace, instructions = count(fake, tmp_path, Call(function=lambda: fake.work(300_000)))
    assert (pace, instructions) == (Pace(loops=1, repetitions=5), (300_000.0,) * 5)
    assert list(tmp_path.iterdir()) == []
    assert fake.sent == ["start", "stop"] * 2


def test_a_small_call_is_repeated_within_a_count(fake: FakeValgrind, tmp_path: Path) -> None:
    pace, instructions = count(fake, tmp_path, Call(function=lambda: fake.work(1000)))
    assert pace.loops == 256
    assert instructions == pytest.approx((1000.0,) * 5, abs=0.1)


def test_a_pace_that_is_compared_with_is_kept(fake: FakeValgrind, tmp_path: Path) -> None:
    asked = Pace(loops=4, repetitions=1)
    pace, instructions = count(fake, tmp_path, Call(function=lambda: fake.work(10)), asked)
    assert (pace, len(instructions)) == (asked, 1)
    assert fake.sent == ["start", "stop"]


def test_a_setup_does_not_count(fake: FakeValgrind, tmp_path: Path) -> None:
    call = Call(function=lambda: fake.work(1000), setup=lambda: fake.work(5_000_000))
    _, instructions = count(fake, tmp_path, call, Pace(loops=8, repetitions=2))
    assert instructions == (1000.0, 1000.0)


def test_a_stream_counts_as_a_whole(fake: FakeValgrind, tmp_path: Path) -> None:
    def stream() -> object:
        for _ in range(3):
            fake.work(100_000)
            yield

    _, instructions = count(fake, tmp_path, Call(function=stream, shape="stream"))
    assert instructions == (300_000.0,) * 5


def test_what_is_awaited_counts_in_the_running_loop(fake: FakeValgrind, tmp_path: Path) -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        fake.work(300_000)

    async def counted() -> tuple[float, ...]:
        counter = Counter(tmp_path, fake)  # type: ignore[arg-type] # as the real one
        return (await counter.count(Call(function=work, shape="coroutine"), budget_s=60.0)).instructions

    assert asyncio.run(counted()) == (300_000.0,) * 5


def test_a_call_that_would_take_too_long_is_refused_with_what_allows_it(fake: FakeValgrind, tmp_path: Path) -> None:
    counter = Counter(tmp_path, fake)  # type: ignore[arg-type] # as the real one
    with pytest.raises(Unsupported, match=r"would take about .* s, and 1e-09 s are allowed: --devperf-max-time="):
        run_now(counter.count(Call(function=lambda: sum(range(1000))), budget_s=1e-9))


def test_a_count_that_valgrind_did_not_write_is_an_error(fake: FakeValgrind, tmp_path: Path) -> None:
    fake.dump = lambda: 0  # type: ignore[method-assign] # a full disk
    with pytest.raises(TargetError, match="valgrind wrote 0 of 4 counts"):
        count(fake, tmp_path, Call(function=lambda: None))


@given(st.floats(min_value=-100, max_value=1e12))
def test_a_count_has_enough_instructions_and_no_more_loops_than_needed(single_ir: float) -> None:
    pace = pace_of(single_ir)
    size = max(single_ir, SMALLEST_IR)
    assert pace.loops * size >= LEAST_IR
    assert pace.loops == 1 or pace.loops * size < 2 * LEAST_IR
    assert pace.repetitions in {1, REPETITIONS}


@given(st.binary(max_size=200))
def test_any_end_of_a_file_is_a_total_or_none(tail: bytes) -> None:
    total = parse_total(tail)
    assert total is None or total >= 0


def test_a_file_that_was_cut_short_has_no_total() -> None:
    assert parse_total(b"1 20\n\ntotals: 2") is None
    assert parse_total(b"") is None


def test_a_folder_with_a_percent_sign_is_no_pattern() -> None:
    assert out_file(Path("/tmp/50%pure")) == "--callgrind-out-file=/tmp/50%%pure/callgrind.%p"


def test_work_is_prepared_for_as_many_runs_as_asked() -> None:
    calls: list[None] = []
    work = Work(Call(function=lambda: calls.append(None)), lambda: 0)
    work.prepare(6)()
    assert len(calls) == 6
    assert work.parts(6) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
class TestForks:
    def test_what_a_fork_returns_arrives(self) -> None:
        parent = os.getpid()
        found = run_in_fork(lambda: {"pid": os.getpid(), "words": "ä" * 100_000}, seed=1)
        assert found["pid"] != parent
        assert found["words"] == "ä" * 100_000

    def test_a_fork_that_is_killed_is_reported_with_its_signal(self) -> None:
        with pytest.raises(ForkDied, match="ended by SIGKILL"):
            run_in_fork(lambda: os.kill(os.getpid(), signal.SIGKILL) or {}, seed=1)

    def test_a_fork_that_raises_or_exits_does_not_come_back(self, capfd: pytest.CaptureFixture[str]) -> None:
        def fail() -> dict[str, object]:
            raise ValueError("broken")

        with pytest.raises(ForkDied, match="ended with exit code 1"):
            run_in_fork(fail, seed=1)
        assert "ValueError: broken" in capfd.readouterr().err

    def test_a_seed_decides_the_ballast(self) -> None:
        sizes = [[len(block) for block in hold_ballast(seed)] for seed in (1, 1, 2)]
        assert sizes[0] == sizes[1] != sizes[2]


@pytest.mark.parametrize(
    ("platform", "sentence"),
    [
        (
            "darwin",
            "instructions are counted on Linux only: valgrind has no version for current macOS: count in a Linux",
        ),
        (
            "win32",
            "instructions are counted on Linux only: valgrind has no version for .*: count under WSL or in a Linux",
        ),
    ],
)
def test_other_systems_get_the_reason_why_they_cannot_count(
    monkeypatch: pytest.MonkeyPatch, platform: str, sentence: str
) -> None:
    monkeypatch.setattr(finding.sys, "platform", platform)
    with pytest.raises(Unsupported, match=sentence):
        finding.find_valgrind()


@on_linux
def test_an_unknown_processor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding.platform, "machine", lambda: "riscv64")
    with pytest.raises(Unsupported, match="on x86_64 and aarch64 only, not on riscv64"):
        finding.find_valgrind()


def test_an_interpreter_without_the_gil_keeps_its_allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "is_glibc", lambda: True)
    monkeypatch.setattr(finding.sysconfig, "get_config_var", lambda _: 1)
    assert "PYTHONMALLOC" not in finding.counting_variables()
    assert finding.allocator_name() == "default"


def test_every_process_start_has_a_layout_of_its_own_and_the_same_in_every_session() -> None:
    layouts = [finding.counting_variables(process)[finding.BALLAST] for process in range(6)]
    assert len(set(layouts)) == len(layouts)
    assert layouts == [finding.counting_variables(process)[finding.BALLAST] for process in range(6)]


@pytest.mark.skipif(shutil.which("valgrind") is None or sys.platform != "linux", reason="needs valgrind")
def test_an_interpreter_that_counts_again_lies_elsewhere_in_memory(tmp_path: Path) -> None:
    counting = SessionCounting()
    first, again = (dict(counting.environment(tmp_path, process).variables) for process in (0, 1))
    assert first.pop(finding.BALLAST) != again.pop(finding.BALLAST)
    assert first == again

"""Peaks of this process and of a child."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from waiting import running

from pytest_devperf.sensor.host import memory
from pytest_devperf.sensor.host.memory import MemoryReader, PeakMemory

MIB = 1 << 20

BLOCK = 48 * MIB
"""Far above the reserve of an allocator, so that it is allocated from the system and returned to it."""

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads files of the Linux kernel")


@pytest.fixture(params=["kernel", "sampled"])
def peak(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> PeakMemory:
    if request.param == "sampled":
        monkeypatch.setattr(memory, "_reset_kernel_peak", lambda: False)
    elif sys.platform != "linux":
        pytest.skip("only Linux has a peak that can be reset")
    return PeakMemory()


def touch(size: int) -> bytearray:
    block = bytearray(size)
    block[::4096] = b"x" * len(block[::4096])
    return block


def test_the_peak_covers_live_memory(peak: PeakMemory) -> None:
    peak.reset()
    before = peak.rss_bytes()
    block = touch(BLOCK)

    assert peak.peak_bytes() - before == pytest.approx(len(block), abs=4 * MIB)


@needs_linux
def test_the_kernel_remembers_a_peak_that_is_gone_and_forgets_it_on_reset() -> None:
    peak = PeakMemory()
    peak.reset()
    before = peak.rss_bytes()
    del_me = touch(BLOCK)
    del del_me
    remembered = peak.peak_bytes() - before
    peak.reset()

    assert remembered == pytest.approx(BLOCK, abs=4 * MIB)
    assert peak.peak_bytes() - before < BLOCK / 2


def test_sampling_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_reset_kernel_peak", lambda: False)
    before = threading.active_count()
    peak = PeakMemory()
    peak.reset()
    peak.reset()
    running = threading.active_count()
    peak.peak_bytes()

    assert (running, threading.active_count()) == (before + 1, before)


def test_a_peak_is_never_below_the_present_size() -> None:
    peak = PeakMemory()

    assert peak.peak_bytes() >= peak.rss_bytes() * 0.99


@needs_linux
def test_a_child_is_read_while_it_lives_and_remembered_afterwards() -> None:
    code = f"x = bytearray({BLOCK}); x[::4096] = b'x' * len(x[::4096]); del x; print('ready', flush=True); input()"
    with running([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        reader = MemoryReader(child.pid)
        resident = reader.look()
        child.communicate(b"\n")

    assert resident is not None
    assert resident < BLOCK
    assert reader.peak_bytes() is not None
    assert BLOCK < (reader.peak_bytes() or 0) < 2 * BLOCK
    assert reader.look() is None


def test_a_process_that_never_was_has_no_peak() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    assert MemoryReader(gone.pid).peak_bytes() is None


@needs_linux
def test_a_child_can_be_read_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_status", lambda pid: None)
    monkeypatch.setattr(memory, "_proc", lambda: False)
    seen = MemoryReader(os.getpid()).look()
    text = Path("/proc/self/status").read_text()

    assert seen is not None
    assert seen > MIB
    assert "VmRSS" in text

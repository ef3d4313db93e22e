"""A process that is killed at any step harms nothing that was saved, and loses at most one process start.

Small here; `DEVPERF_FAULTS=1000 pytest tests/faults --timeout=0` kills sessions a thousand times. The counts are
printed at the end of the run.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from driving import MS, SPEED, TWO, VirtualClock, drive
from killing import Countdown, in_child, was_killed, watch_changes

from pytest_devperf.record.codec import encode
from pytest_devperf.record.record import DeviceRecord, Document, Run
from pytest_devperf.store.check import examine
from pytest_devperf.store.folder import FolderStore
from pytest_devperf.store.generation import save_run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

KILLS = int(os.environ.get("DEVPERF_FAULTS", "6"))
"""How often sessions are killed."""

SEED = int(os.environ.get("DEVPERF_FAULTS_SEED", "7"))

HOST = DeviceRecord(fingerprint="0123456789ab", kind="host", model="Board")


def a_run(run_id: str, taken_at: str = "2026-11-29T20:15:03Z") -> Run:
    return Run(id=run_id, label="main", taken_at=taken_at, devperf_version="0.1.0", device=HOST)


def files_below(folder: Path) -> dict[Path, bytes]:
    return {each: each.read_bytes() for each in folder.rglob("*.json")}


def check_sound(store: FolderStore, before: Mapping[Path, bytes]) -> None:
    """Check that what was saved before is as it was, and that every run can be read."""
    now = files_below(store.path)
    assert {path: now.get(path) for path in before} == before
    found = examine(store)
    assert [fault for fault in found.faults if fault.kind != "leftover"] == []
    assert found.runs == len(now)


@pytest.fixture(autouse=True)
def no_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no git for each of a thousand sessions."""
    for module in ("session.kept.runs", "session.log.facts"):
        monkeypatch.setattr(f"pytest_devperf.{module}.read_commit", lambda _: None)


# -- saves ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("saved", [0, 2])
@pytest.mark.parametrize("append", [False, True])
def test_a_save_that_is_killed_at_any_step_harms_nothing(
    tmp_path: Path, saved: int, append: bool, campaign: Callable[[str, int], None]
) -> None:
    steps = 0
    while True:
        folder = tmp_path / str(steps)
        folder.mkdir()
        store = FolderStore(folder / ".devperf")
        for number in range(saved):
            save_run(store, a_run(f"r{number}"), append=False)
        before = files_below(folder)

        def save(store: FolderStore = store, folder: Path = folder, steps: int = steps) -> None:
            watch_changes(folder, Countdown(steps))
            save_run(store, a_run("killed"), append=append)

        killed = was_killed(in_child(save))
        check_sound(store, before)
        # The next save succeeds whatever the killed one left, its lock included.
        save_run(store, a_run("next"), append=append)
        newest = store.runs(HOST.fingerprint, "main", newest=True)
        assert newest[0].id == "next"
        assert len(newest) >= 1 + (append and saved > 0)
        check_sound(store, before)
        if not killed:
            break
        steps += 1
    assert steps > 5
    campaign("kills at every step of a save", steps)


# -- sessions ---------------------------------------------------------------------------------------


SLOWER = {"fast": MS, "slow": 10 * MS}
SESSIONS: Mapping[str, Mapping[str, Any]] = {
    "measuring": {"save": "new", "takes_ns": SPEED},
    "confirming": {"compare": "base", "takes_ns": SLOWER},
    "repeating": {"aa": 2, "takes_ns": SPEED, "plan": {"processes": 2, "rounds": 4}},
}


def without_names(data: bytes) -> Any:
    return json.loads(re.sub(r'"(id": "[0-9a-f]{8}|taken_at": "[^"]*)"', '"name": ""', data.decode()))


def measure(folder: Path, result: Path, **settings: Any) -> None:
    done = drive(TWO, folder, **settings)
    result.write_bytes(encode(Document(runs=done.report.runs)))


def killed_at(step: int, folder: Path, work: Callable[[], object]) -> Callable[[], object]:
    """Let a child be killed at a step: a change below the folder, or a reading of the virtual clock."""

    def killed() -> object:
        countdown = Countdown(step)
        watch_changes(folder, countdown)
        now_ns = VirtualClock.now_ns

        def read(clock: VirtualClock) -> int:
            countdown()
            return now_ns(clock)

        VirtualClock.now_ns = read  # type: ignore[method-assign] # of this child alone
        return work()

    return killed


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_session_that_is_killed_again_and_again_ends_as_one_that_was_not(
    tmp_path: Path, kind: str, campaign: Callable[[str, int], None]
) -> None:
    settings, chance = SESSIONS[kind], random.Random(f"{SEED} {kind}")
    drive(TWO, tmp_path, save="base", takes_ns=SPEED)
    measure(tmp_path, tmp_path / "whole.txt", **settings)
    whole = without_names((tmp_path / "whole.txt").read_bytes())
    before = files_below(tmp_path / ".devperf")
    kills = resumed = 0
    while kills < KILLS // len(SESSIONS):
        resume = any((tmp_path / "logs").glob("*.log"))
        result = tmp_path / "result.txt"

        def work(resume: bool = resume, result: Path = result) -> None:
            measure(tmp_path, result, resume=resume, **settings)

        step = chance.randrange(400)
        if was_killed(in_child(killed_at(step, tmp_path, work))):
            kills += 1
        else:
            assert without_names(result.read_bytes()) == whole
            assert list((tmp_path / "logs").glob("*.log")) == []
            resumed += resume
            result.unlink()
        store = FolderStore(tmp_path / ".devperf")
        check_sound(store, before)
        before = files_below(store.path)
    if any((tmp_path / "logs").glob("*.log")):
        measure(tmp_path, tmp_path / "last.txt", resume=True, **settings)
        assert without_names((tmp_path / "last.txt").read_bytes()) == whole
    campaign(f"kills of sessions while {kind}", kills)
    campaign(f"sessions resumed to their end while {kind}, each as one that was not killed", resumed)

"""Disks that are full, read-only or forbidden, and clocks that are set back: one clear line, nothing harmed."""

from __future__ import annotations

import errno
import itertools
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from driving import SPEED, TWO, drive
from killing import Failing, in_child, was_killed, watch_growth
from msgspec.structs import replace

from pytest_devperf.errors import StoreError
from pytest_devperf.record.record import DeviceRecord, Run
from pytest_devperf.store.check import examine
from pytest_devperf.store.folder import FolderStore
from pytest_devperf.store.generation import save_run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

MOST_STEPS = 100
"""More than a save has."""

HOST = DeviceRecord(fingerprint="0123456789ab", kind="host", model="Board")


def a_run(run_id: str, taken_at: str = "2026-11-29T20:15:03Z") -> Run:
    return Run(id=run_id, label="main", taken_at=taken_at, devperf_version="0.1.0", device=HOST)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    store = FolderStore(tmp_path / ".devperf")
    save_run(store, a_run("before"), append=False)
    return store


def files_of(store: FolderStore) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in store.path.rglob("*") if each.is_file()}


def refused(store: FolderStore, run: Run | None = None) -> str:
    with pytest.raises(StoreError) as caught:
        save_run(store, run or a_run("refused"), append=True)
    assert "\n" not in str(caught.value)
    assert caught.value.next_step
    return str(caught.value)


@pytest.mark.parametrize("most_bytes", [0, 1, 100, 500])
def test_a_file_that_may_not_grow_is_refused_whole(store: FolderStore, most_bytes: int) -> None:
    before = files_of(store)

    def save() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        assert "cannot be written" in refused(store)

    assert not was_killed(in_child(save))
    assert files_of(store) == before
    save_run(store, a_run("after"), append=True)
    assert [run.id for run in store.runs(HOST.fingerprint, "main")] == ["after", "before"]


@pytest.mark.parametrize(
    ("number", "saved", "append"),
    [
        (errno.ENOSPC, 0, False),
        (errno.ENOSPC, 2, False),
        (errno.ENOSPC, 2, True),
        (errno.EDQUOT, 0, True),
        (errno.EROFS, 2, True),
        (errno.EACCES, 2, False),
        (errno.EIO, 2, True),
    ],
)
def test_a_disk_that_fails_at_any_step_of_a_save_is_named_and_harms_nothing(
    tmp_path: Path, number: int, saved: int, append: bool, campaign: Callable[[str, int], None]
) -> None:
    refusals = 0
    for step in itertools.count():
        store = FolderStore(tmp_path / str(step) / ".devperf")
        store.path.parent.mkdir()
        for nth in range(saved):
            save_run(store, a_run(f"r{nth}"), append=False)
        before, told = files_of(store), tmp_path / f"told-{step}.txt"

        def save(store: FolderStore = store, step: int = step, told: Path = told) -> None:
            watch_growth(store.path.parent, Failing(step, number))
            try:
                save_run(store, a_run("refused"), append=append)
            except StoreError as error:
                told.write_text(str(error))

        assert not was_killed(in_child(save))
        there = [run.id for run in store.runs(HOST.fingerprint, "main")]
        if told.exists():
            refusals += 1
            line = told.read_text()
            assert os.strerror(number).lower() in line
            assert "\n" not in line
            assert files_of(store) == before
            assert "refused" not in there
        else:
            assert "refused" in there  # what failed is not part of the run
        assert [fault for fault in examine(store).faults if fault.kind == "damaged"] == []
        save_run(store, a_run("next"), append=append)
        if not told.exists() and (step > MOST_STEPS or _is_furnished(store.path)):
            break
    campaign(f"disk errors ({errno.errorcode[number]}) at every step of a save", refusals)
    assert refusals >= 3


def _is_furnished(store: Path) -> bool:
    return (store / "README.md").exists() and (store / ".gitignore").exists()


def test_a_session_whose_log_cannot_grow_is_measured_and_saved_all_the_same(
    tmp_path: Path, campaign: Callable[[str, int], None]
) -> None:
    steps = 0
    for step in itertools.count():
        folder, ended = tmp_path / str(step), tmp_path / f"told-{step}.txt"
        folder.mkdir()

        def measure(folder: Path = folder, ended: Path = ended, step: int = step) -> None:
            failing = Failing(step, errno.ENOSPC)
            watch_growth(folder / "logs", failing)
            drive(TWO, folder, save="base", takes_ns=SPEED)
            ended.write_text("failed" if failing.left == 0 else "whole")

        assert not was_killed(in_child(measure))
        (device,) = (each for each in (folder / ".devperf").iterdir() if each.is_dir())
        assert len(list((device / "base").glob("*.json"))) == 1
        assert examine(FolderStore(folder / ".devperf")).faults == []
        if ended.read_text() == "whole":
            break
        steps += 1
    campaign("logs on a full disk, at every step of a session", steps)
    assert steps >= 1


@pytest.mark.usefixtures("ordinary_rights")
@pytest.mark.parametrize(
    ("place", "fields"),
    [
        (".", {"device": DeviceRecord(fingerprint="ba9876543210", kind="host", model="Other")}),
        ("host-board-0123456789ab", {"label": "another"}),
        ("host-board-0123456789ab/main", {}),
    ],
)
def test_a_folder_that_may_not_be_written_is_refused(store: FolderStore, place: str, fields: dict[str, Any]) -> None:
    folder, before = store.path / place, files_of(store)
    folder.chmod(0o500)
    try:
        assert "permission denied" in refused(store, replace(a_run("refused"), **fields))
    finally:
        folder.chmod(0o700)
    assert files_of(store) == before
    assert examine(store).faults == []


def test_a_clock_that_was_set_back_changes_no_order(store: FolderStore) -> None:
    for number, taken_at in enumerate(("2026-12-01T00:00:00Z", "1970-01-01T00:00:01Z", "2026-11-01T00:00:00Z")):
        save_run(store, a_run(f"r{number}", taken_at), append=False)

    assert [run.id for run in store.runs(HOST.fingerprint, "main")] == ["r2", "r1", "r0", "before"]
    assert [run.id for run in store.runs(HOST.fingerprint, "main", newest=True)] == ["r2"]
    save_run(store, a_run("joined", "1970-01-01T00:00:02Z"), append=True)
    assert [run.id for run in store.runs(HOST.fingerprint, "main", newest=True)] == ["joined", "r2"]

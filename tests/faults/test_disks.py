"""Disks that are full, read-only or forbidden, and clocks that are set back: one clear line, nothing harmed."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from typing import Any

import pytest
from killing import in_child, was_killed
from msgspec.structs import replace

from pytest_devperf.errors import StoreError
from pytest_devperf.record.record import DeviceRecord, Run
from pytest_devperf.store.check import examine
from pytest_devperf.store.folder import FolderStore
from pytest_devperf.store.generation import save_run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")

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

"""Listings and histories read no samples, and read each run once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pytest_devperf.compare.history import NEWEST, index
from pytest_devperf.errors import StoreError
from pytest_devperf.record.record import DeviceRecord, Measurement, Record, Run, WorkloadRecord
from pytest_devperf.store import files
from pytest_devperf.store.folder import FolderStore
from pytest_devperf.store.outlines import read_generation, read_outlines, read_some

HOST = DeviceRecord(fingerprint="0123456789ab", kind="host", model="Board")


def a_case(case_id: str, outcome: Any = "passed") -> Record:
    metric = Measurement(name="latency", unit="ms", main=True, process=(0,), samples_ns=((1.0, 2.0),), robust=0.5)
    return Record(id=case_id, outcome=outcome, workload=WorkloadRecord(fingerprint="w", kind="call"), metrics=(metric,))


def a_run(number: int, *cases: Record, generation: str = "2026-11-01T00:00:00Z") -> Run:
    return Run(
        id=f"r{number}",
        label="main",
        generation=generation,
        taken_at=f"2026-11-{number + 1:02d}T00:00:00Z",
        devperf_version="0",
        device=HOST,
        cases=cases or (a_case("a"),),
    )


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderStore:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path / "cache")
    return FolderStore(tmp_path / ".devperf")


@pytest.fixture
def read(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files of runs that were read."""
    read: list[str] = []
    read_file = store.read
    monkeypatch.setattr(store, "read", lambda place: read.append(place[-1]) or read_file(place))
    return read


class PlainStore:
    """A store of a plugin, which knows no outlines."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.kept = runs

    def check_writable(self) -> None: ...
    def save(self, run: Run) -> str:
        raise NotImplementedError

    def label_summaries(self) -> Sequence[Any]:
        return ()

    def runs(self, fingerprint: str, label: str, *, newest: bool = False) -> Sequence[Run]:
        return self.kept


def test_outlines_are_newest_first_and_read_each_file_once(store: FolderStore, read: list[str]) -> None:
    for number in range(3):
        store.save(a_run(number))

    first = list(read_outlines(store, HOST.fingerprint, "main"))
    assert [run.id for run in first] == ["r2", "r1", "r0"]
    assert [metric.robust for metric in first[0].cases[0].metrics] == [0.5]
    assert len(read) == 3
    assert list(read_outlines(store, HOST.fingerprint, "main")) == first
    assert len(read) == 3


def test_a_file_that_changed_is_read_again(store: FolderStore, read: list[str]) -> None:
    path = Path(store.save(a_run(0)))
    assert [case.id for run in store.outlines(HOST.fingerprint, "main") for case in run.cases] == ["a"]
    path.write_bytes(path.read_bytes().replace(b'"id": "a"', b'"id": "b"'))

    assert [case.id for run in store.outlines(HOST.fingerprint, "main") for case in run.cases] == ["b"]
    assert len(read) == 2


def test_a_file_that_was_damaged_is_named(store: FolderStore) -> None:
    path = Path(store.save(a_run(0)))
    assert list(store.outlines(HOST.fingerprint, "main"))
    path.write_bytes(path.read_bytes()[:-40])

    with pytest.raises(StoreError, match=path.name):
        list(store.outlines(HOST.fingerprint, "main"))


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00" * 100])
def test_a_damaged_cache_is_made_again(store: FolderStore, tmp_path: Path, content: bytes) -> None:
    store.save(a_run(0))
    first = list(store.outlines(HOST.fingerprint, "main"))
    for copy in (tmp_path / "cache").rglob("*"):
        if copy.is_file():
            copy.write_bytes(content)

    assert list(store.outlines(HOST.fingerprint, "main")) == first


def test_chosen_runs_are_read_and_no_others(store: FolderStore, read: list[str]) -> None:
    for number in range(4):
        store.save(a_run(number))
    list(store.outlines(HOST.fingerprint, "main"))
    read.clear()

    assert [run.id for run in read_some(store, HOST.fingerprint, "main", {"r1", "gone"})] == ["r1"]
    assert len(read) == 1
    assert list(read_some(store, HOST.fingerprint, "main", set())) == []


def test_a_generation_of_many_runs_is_read_as_far_as_a_baseline_needs_it(store: FolderStore, read: list[str]) -> None:
    store.save(a_run(0, a_case("rare")))
    for number in range(1, 12):
        store.save(a_run(number, a_case("a"), a_case("rare", "failed")))
    list(store.outlines(HOST.fingerprint, "main"))
    read.clear()

    runs = read_generation(store, HOST.fingerprint, "main", per_case=NEWEST)

    assert [run.id for run in runs] == ["r11", "r10", "r9", "r8", "r7", "r0"]
    assert len(read) == 6
    whole = store.runs(HOST.fingerprint, "main", newest=True)
    assert index(runs, HOST.fingerprint) == index(whole, HOST.fingerprint)


def test_an_older_generation_is_not_part_of_the_newest(store: FolderStore) -> None:
    store.save(a_run(0, a_case("old")))
    store.save(a_run(1, generation="2026-11-02T00:00:00Z"))

    assert [run.id for run in read_generation(store, HOST.fingerprint, "main", per_case=NEWEST)] == ["r1"]
    assert read_generation(store, HOST.fingerprint, "other", per_case=NEWEST) == ()


def test_a_store_of_a_plugin_reads_whole_runs() -> None:
    runs = [replace(a_run(number)) for number in (1, 0)]
    plain = PlainStore(runs)

    assert list(read_outlines(plain, HOST.fingerprint, "main")) == runs
    assert list(read_some(plain, HOST.fingerprint, "main", {"r0"})) == runs[1:]
    assert read_generation(plain, HOST.fingerprint, "main", per_case=NEWEST) == runs

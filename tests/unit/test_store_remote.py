"""A store behind a URL behaves like a folder."""

from __future__ import annotations

import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest

from pytest_devperf.errors import StoreError, UsageError
from pytest_devperf.record.record import DeviceRecord, Run
from pytest_devperf.store.generation import save_run
from pytest_devperf.store.open import open_store
from pytest_devperf.store.remote.store import RemoteStore

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402 - only if fsspec is installed

HOST = DeviceRecord(fingerprint="0123456789ab", kind="host", model="Board")
FINGERPRINT = HOST.fingerprint


def a_run(label="main", taken_at="2026-11-29T20:15:03Z", **fields) -> Run:
    fields.setdefault("generation", taken_at)
    return Run(label=label, taken_at=taken_at, devperf_version="0.1.0", device=HOST, **fields)


@pytest.fixture
def store(tmp_path):
    return open_store(f"memory://{uuid.uuid4().hex}/kept/", tmp_path)


def everything(store):
    return fsspec.filesystem("memory").find(store.url.removeprefix("memory://"))


def test_a_saved_run_comes_back(store):
    run = a_run(id="r1")

    assert store.save(run) == f"{store}/host-board-0123456789ab/main/2026-11-29T20-15-03Z-r1.json"
    assert store.runs(FINGERPRINT, "main") == (run,)
    assert [
        (label_summary.device, label_summary.label, label_summary.runs) for label_summary in store.label_summaries()
    ] == [(HOST, "main", 1)]


def test_a_store_that_is_not_there_yet_is_empty(store):
    assert store.label_summaries() == ()
    assert store.runs(FINGERPRINT, "main") == ()


def test_the_first_save_leaves_a_note(store):
    store.save(a_run())

    assert any(path.endswith("/README.md") for path in everything(store))


def test_saves_of_one_second_all_stay_in_their_order(store):
    for number in range(5):
        store.save(a_run(id=f"r{number}"))

    assert [run.id for run in store.runs(FINGERPRINT, "main")] == ["r4", "r3", "r2", "r1", "r0"]


def test_only_the_newest_generation_is_taken_when_it_is_wanted(store):
    save_run(store, a_run(id="old"), append=False)
    save_run(store, a_run(id="new"), append=False)

    assert [run.id for run in store.runs(FINGERPRINT, "main", newest=True)] == ["new"]


def test_saves_at_the_same_moment_start_separate_generations(store):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: save_run(store, a_run(id=f"r{each}"), append=False), range(8)))

    (generations,) = [{run.generation for run in store.runs(FINGERPRINT, "main")}]
    assert len(generations) == 8


def test_saves_that_join_at_the_same_moment_leave_one_generation(store):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: save_run(store, a_run(id=f"r{each}"), append=True), range(8)))

    assert len(store.runs(FINGERPRINT, "main", newest=True)) == 8


def test_an_appended_run_joins_the_newest_generation(store):
    save_run(store, a_run(id="old"), append=False)
    save_run(store, a_run(id="more"), append=True)

    assert [run.id for run in store.runs(FINGERPRINT, "main", newest=True)] == ["more", "old"]


def test_a_damaged_newest_run_is_named(store):
    store.save(a_run())
    path = store.save(a_run(taken_at="2026-11-30T00:00:00Z"))
    fsspec.filesystem("memory").pipe_file(path.removeprefix("memory://"), b"{")

    with pytest.raises(StoreError, match="2026-11-30T00-00-00Z"):
        store.runs(FINGERPRINT, "main")


def test_half_written_files_are_left_alone(store):
    path = store.save(a_run()).removeprefix("memory://")
    fsspec.filesystem("memory").pipe_file(f"{path}.1234.tmp", b"{")

    assert len(store.runs(FINGERPRINT, "main")) == 1


def test_checking_leaves_no_file(store):
    store.check_writable()

    assert everything(store) == []


class Closed(fsspec.AbstractFileSystem):
    """A bucket that may be listed and not written."""

    protocol = "closed"
    moved = False

    def ls(self, path, detail=True, **kwargs):
        raise FileNotFoundError(path)

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        raise PermissionError("403 Forbidden")


class Full(Closed):
    """A server that takes files and cannot move them."""

    protocol = "full"
    removed: list[str] = []  # noqa: RUF012 - the test reads it

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        pass

    def mv(self, path1, path2, recursive=False, maxdepth=None, **kwargs):
        raise OSError("507 Insufficient Storage")

    def rm_file(self, path):
        self.removed.append(path)


@pytest.fixture(autouse=True)
def _protocols():
    fsspec.register_implementation("closed", Closed, clobber=True)
    fsspec.register_implementation("full", Full, clobber=True)


def test_a_refused_write_names_the_location_and_the_reason():
    store = RemoteStore("closed://bucket/kept")

    for attempt in (store.check_writable, lambda: store.save(a_run())):
        with pytest.raises(
            StoreError, match=r"closed://bucket/kept.* cannot be written \(403 Forbidden\): check the URL"
        ):
            attempt()


def test_a_write_that_fails_half_way_is_cleared_away():
    with pytest.raises(StoreError, match="507 Insufficient Storage"):
        RemoteStore("full://bucket").save(a_run())

    assert [path.endswith(".tmp") for path in Full.removed] == [True]


@pytest.mark.parametrize(
    "url", ["closed://me:s3cret@bucket/kept", "closed://me:s3%40cret@bucket/kept", "closed://bucket/kept?sig=s3cret"]
)
def test_no_password_of_a_url_is_shown(url):
    store = RemoteStore(url)

    with pytest.raises(StoreError, match="403 Forbidden") as refused:
        store.save(a_run())
    shown = f"{refused.value} {store} {store.where(('a', 'b'))}"
    assert "s3" not in shown
    assert "***" in shown


def test_no_password_of_a_url_that_cannot_be_used_is_shown(monkeypatch):
    with pytest.raises(UsageError, match=r"nonsense://\*\*\*@x cannot be used") as refused:
        open_store("nonsense://me:s3cret@x", ".")
    assert "s3cret" not in str(refused.value)

    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(UsageError, match="needs fsspec") as refused:
        open_store("s3://me:s3cret@x", ".")
    assert "s3cret" not in str(refused.value)


class Aged(MemoryFileSystem):
    """Files of which one is two days old."""

    protocol = "aged"
    store: dict = {}  # noqa: RUF012 - as the class above it
    pseudo_dirs = [""]  # noqa: RUF012 - likewise

    def modified(self, path):
        return datetime.now(timezone.utc) - timedelta(days=2 if "00000001" in path else 0)


def test_files_of_killed_writers_are_deleted_if_their_age_is_known():
    fsspec.register_implementation("aged", Aged, clobber=True)
    store = RemoteStore("aged://bucket")
    store.save(a_run())
    label_summary = store.places(FINGERPRINT, "main")[0][:-1]
    for name in (".devperf-00000001.tmp", ".devperf-00000002.tmp"):
        store._system.pipe_file(store._at((*label_summary, name)), b"{")

    store.save(a_run())

    assert [name for name in store.files(label_summary) if name.endswith(".tmp")] == [".devperf-00000002.tmp"]


def test_a_protocol_that_nothing_installed_speaks_is_named():
    with pytest.raises(UsageError, match=r"the store nonsense://x cannot be used \(Protocol not known"):
        open_store("nonsense://x", ".")


def test_without_fsspec_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)

    with pytest.raises(UsageError, match=r"needs fsspec: install pytest-devperf\[remote\]"):
        open_store("s3://bucket/runs", ".")

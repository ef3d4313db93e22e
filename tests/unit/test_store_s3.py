"""A store for a team on a genuine S3 protocol: nothing torn, lost or shown, whoever writes at the same moment."""

from __future__ import annotations

import logging
import socket
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.errors import StoreError
from pytest_devperf.record.record import DeviceRecord, Run
from pytest_devperf.store.generation import save_run
from pytest_devperf.store.remote.index import INDEX
from pytest_devperf.store.remote.store import RemoteStore

pytest.importorskip("s3fs")
moto_server = pytest.importorskip("moto.server")

HOST = DeviceRecord(fingerprint="0123456789ab", kind="host", model="Board")
SAVERS = 32
SECRET = "hush-hush-hush"


def a_run(run_id: str, **fields: Any) -> Run:
    taken_at = fields.pop("taken_at", "2026-11-29T20:15:03Z")
    return Run(id=run_id, label="main", taken_at=taken_at, devperf_version="0.1.0", device=HOST, **fields)


class Server:
    """An S3 server whose objects survive its restarts."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.requests: list[tuple[str, str]] = []
        self.start()

    def start(self) -> None:
        self._server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=self.port, verbose=False)
        self._server.start()

    def stop(self) -> None:
        self._server.stop()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    made = Server()
    yield made
    made.stop()


@pytest.fixture
def url(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    import fsspec

    bucket = f"bucket-{uuid.uuid4().hex[:12]}"
    fsspec.filesystem("s3").mkdir(bucket)
    return f"s3://{bucket}/runs"


def test_a_saved_run_comes_back_and_is_listed(url: str) -> None:
    store = RemoteStore(url)
    store.check_writable()
    path = save_run(store, a_run("r1"), append=False)

    assert path == f"{url}/host-board-0123456789ab/main/2026-11-29T20-15-03Z-r1.json"
    (run,) = RemoteStore(url).runs(HOST.fingerprint, "main")
    assert (run.id, run.generation) == ("r1", "2026-11-29T20:15:03Z")
    assert [(each.label, each.runs) for each in RemoteStore(url).label_summaries()] == [("main", 1)]


@pytest.mark.parametrize("append", [False, True])
def test_of_many_savers_at_once_each_is_kept_in_the_generation_it_meant(url: str, append: bool) -> None:
    def save(number: int) -> None:
        save_run(RemoteStore(url), a_run(f"r{number:02d}"), append=append)

    with ThreadPoolExecutor(SAVERS) as pool:
        list(pool.map(save, range(SAVERS)))

    store = RemoteStore(url)
    assert sorted(run.id for run in store.runs(HOST.fingerprint, "main")) == [f"r{each:02d}" for each in range(SAVERS)]
    assert len(store.runs(HOST.fingerprint, "main", newest=True)) == (SAVERS if append else 1)


def test_a_saver_that_was_killed_after_its_claim_holds_nobody_up(url: str) -> None:
    store = RemoteStore(url)
    save_run(store, a_run("r1"), append=False)
    store._claim(a_run("dead"), ("host-board-0123456789ab", "main"), append=True)
    save_run(store, a_run("r2"), append=True)

    assert [run.id for run in store.runs(HOST.fingerprint, "main", newest=True)] == ["r2", "r1"]
    assert [(each.runs, each.newest) for each in store.label_summaries()] == [(2, "2026-11-29T20:15:03Z")]


def test_a_store_of_an_older_version_has_no_index_and_gets_one(url: str) -> None:
    store = RemoteStore(url)
    save_run(store, a_run("old"), append=False)
    folder = ("host-board-0123456789ab", "main", INDEX)
    for name in store.files(folder):
        store._system.rm_file(store._at((*folder, name)))
    assert [each.runs for each in RemoteStore(url).label_summaries()] == [1]

    save_run(RemoteStore(url), a_run("new"), append=True)

    assert [run.id for run in store.runs(HOST.fingerprint, "main", newest=True)] == ["new", "old"]


def test_a_listing_reads_the_index_and_no_run(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RemoteStore(url)
    for number in range(3):
        save_run(store, a_run(f"r{number}"), append=False)
    read: list[str] = []
    store = RemoteStore(url)
    cat = store._system.cat_file
    monkeypatch.setattr(store._system, "cat_file", lambda path: read.append(path) or cat(path))

    assert [each.runs for each in store.label_summaries()] == [3]
    assert [f"/{INDEX}/" in path for path in read] == [True]


def test_what_was_read_is_kept_here_while_the_server_has_the_same(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_run(RemoteStore(url), a_run("r1"), append=False)
    first = RemoteStore(url).runs(HOST.fingerprint, "main")
    store = RemoteStore(url)
    read: list[str] = []
    cat = store._system.cat_file
    monkeypatch.setattr(store._system, "cat_file", lambda path: read.append(path) or cat(path))

    assert store.runs(HOST.fingerprint, "main") == first
    assert read == []
    data = cat(path.removeprefix("s3://"))
    store._system.pipe_file(path.removeprefix("s3://"), data.replace(b'"0.1.0"', b'"0.2.0"'))
    assert [run.devperf_version for run in store.runs(HOST.fingerprint, "main")] == ["0.2.0"]


def test_a_damaged_copy_is_read_again(url: str, tmp_path: Path) -> None:
    save_run(RemoteStore(url), a_run("r1"), append=False)
    first = RemoteStore(url).runs(HOST.fingerprint, "main")
    for copy in (tmp_path / "cache").rglob("*"):
        if copy.is_file():
            copy.write_bytes(copy.read_bytes()[:-1])

    assert RemoteStore(url).runs(HOST.fingerprint, "main") == first


def test_a_server_that_restarts_in_a_save_loses_nothing(
    url: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def restart(seconds: float) -> None:
        waits.append(seconds)
        server.start()

    monkeypatch.setattr("pytest_devperf.store.remote.requests.time.sleep", restart)
    store = RemoteStore(url)
    save_run(store, a_run("before"), append=False)
    monkeypatch.setattr(store._system, "retries", 1)
    server.stop()

    save_run(store, a_run("during"), append=True)

    assert waits
    assert [run.id for run in RemoteStore(url).runs(HOST.fingerprint, "main", newest=True)] == ["during", "before"]


def test_a_server_that_stays_away_is_given_up_in_one_line_without_secrets(
    url: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("pytest_devperf.store.remote.requests.time.sleep", waits.append)
    store = RemoteStore(url)
    monkeypatch.setattr(store._system, "retries", 1)
    server.stop()
    try:
        with pytest.raises(StoreError, match="check the URL, the network and your credentials") as refused:
            save_run(store, a_run("r1"), append=False)
    finally:
        server.start()

    assert len(waits) == 3
    assert SECRET not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_nothing_that_is_stored_contains_a_secret(url: str) -> None:
    store = RemoteStore(url)
    save_run(store, a_run("r1"), append=False)

    for path in store._system.find(store._root):
        assert SECRET.encode() not in store._system.cat_file(path)

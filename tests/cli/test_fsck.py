"""`devperf fsck` finds every file that a reader refuses, explains it, and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_devperf.cli import main
from pytest_devperf.store.folder import FolderStore
from pytest_devperf.store.remote.store import RemoteStore

Store = FolderStore


def files_of(store: Store) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in store.path.rglob("*") if each.is_file()}


def fsck(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str]]:
    code = main(["fsck", *words])
    return code, capsys.readouterr().out.splitlines()


@pytest.fixture
def two_runs(store: Store, make_run: Any) -> Store:
    store.save(make_run(day=1, sort=1.0))
    store.save(make_run(day=2, sort=1.0))
    return store


def newest(store: Store) -> Path:
    return max(store.path.glob("*/*/*.json"))


def test_a_sound_store_is_counted(two_runs: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert fsck(capsys) == (0, [f"{two_runs}: 2 sound runs of 1 label on 1 device"])


def test_a_store_that_does_not_exist_is_empty(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert fsck(capsys) == (0, [f"{store}: 0 sound runs of 0 labels on 0 devices"])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[: len(data) // 2], "truncated: restore it from a copy, or delete it"),
        (lambda data: b"", "is not a pytest-devperf run document: restore it from a copy, or delete it"),
        (lambda data: b"hello", "restore it from a copy, or delete it"),
        (
            lambda data: data.replace(b"pytest-devperf/1", b"pytest-devperf/9"),
            "has version '9', not '1': install pytest-devperf 0.1.0, which wrote it, or newer",
        ),
        (lambda data: data.replace(b'"label": "main"', b'"label": "other"'), "another device or label"),
        (lambda data: json.dumps({**json.loads(data), "runs": []}).encode(), "contains 0 runs instead of one"),
    ],
)
def test_a_bad_file_is_named_with_what_to_do(
    two_runs: Store, capsys: pytest.CaptureFixture[str], damage: Any, words: str
) -> None:
    path = newest(two_runs)
    path.write_bytes(damage(path.read_bytes()))
    before = files_of(two_runs)

    code, lines = fsck(capsys)

    assert code == 1
    assert lines[0].startswith(f"damaged: {path} ")
    assert words in lines[0]
    assert lines[-1] == f"{two_runs}: 1 sound run of 1 label on 1 device; 1 damaged file"
    assert files_of(two_runs) == before


def test_one_run_in_two_files_is_found(two_runs: Store, capsys: pytest.CaptureFixture[str]) -> None:
    path = newest(two_runs)
    path.with_name("2026-12-24T08-00-00Z-copy.json").write_bytes(path.read_bytes())

    code, lines = fsck(capsys)

    assert code == 1
    assert f"contains the same run as {path.name}: delete one of them" in lines[0]


def test_leftovers_of_killed_saves_harm_nothing(two_runs: Store, capsys: pytest.CaptureFixture[str]) -> None:
    (newest(two_runs).parent / ".devperf-0123abcd.tmp").write_bytes(b"{")
    (two_runs.path / ".devperf-0123abce.tmp").mkdir()
    (newest(two_runs).parent / "notes.txt").write_text("mine")

    code, lines = fsck(capsys)

    assert code == 0
    assert sorted(line.partition(":")[0] for line in lines[:-1]) == ["ignored", "leftover", "leftover"]
    assert all("half written by a save that was killed" in line for line in lines if line.startswith("leftover"))
    assert lines[-1].endswith("; 2 leftovers; 1 ignored file")


def test_a_remote_store_is_examined_with_its_index(make_run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fsspec")
    url = "memory://fsck/runs"
    store = RemoteStore(url)
    store.save(make_run(day=1, sort=1.0))
    (entry,) = store._system.glob("/fsck/runs/*/*/index/*.json")
    assert fsck(capsys, "--store", url) == (0, [f"{url}: 1 sound run of 1 label on 1 device"])

    store._system.pipe_file(entry, b"{")

    code, lines = fsck(capsys, "--store", url)
    assert code == 0
    assert "is an incomplete entry of the index" in lines[0]

"""Every verb that shows runs prints JSON too, whatever their names contain."""

from __future__ import annotations

import json
import subprocess

import pytest
from msgspec.structs import replace

from pytest_devperf.cli import main
from pytest_devperf.record.codec import decode
from pytest_devperf.record.record import Commit

HOSTILE = "test_a.py::test_x[\x1b[31m\x7f\u202e é]"


@pytest.fixture
def hostile(store, make_run):
    for day in (1, 2, 3):
        made = make_run("main", day, fast=1.0)
        cases = tuple(replace(each, id=HOSTILE) for each in made.cases)
        store.save(replace(made, cases=cases, generation="2026-11-01T08:00:00Z"))
    return store


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "-v"],
        ["show", "main"],
        ["compare", "main", "--to", "main"],
        ["history", "test_x"],
        ["noise", "main"],
        ["fsck"],
        ["prune", "--keep", "1"],
    ],
    ids=" ".join,
)
def test_json_is_one_document_in_ascii(hostile, words, capsys):
    assert main([*words, "--format", "json"]) in {0, 1}
    text = capsys.readouterr().out
    assert text.isascii()
    assert "\x1b" not in text
    assert "\x7f" not in text
    json.loads(text)


def test_a_shown_run_is_the_saved_one(hostile, capsys):
    main(["show", "main", "--format", "json"])
    (run,) = decode(capsys.readouterr().out.encode(), "out").runs
    assert run.cases[0].id == HOSTILE


def _commit(folder, *words):
    done = subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.parametrize("known", [True, False])
def test_history_is_in_the_order_of_commits_if_all_are_known(store, make_run, tmp_path, monkeypatch, capsys, known):
    monkeypatch.chdir(tmp_path)
    for name, value in (("AUTHOR", "a"), ("COMMITTER", "a")):
        monkeypatch.setenv(f"GIT_{name}_NAME", value)
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    _commit(tmp_path, "init", "-q")
    ids = []
    for at in range(3):
        _commit(tmp_path, "commit", "-q", "--allow-empty", "-m", str(at))
        ids.append(_commit(tmp_path, "rev-parse", "HEAD"))
    if not known:
        ids[0] = "0" * 40
    for day, commit_id in zip((3, 1, 2), ids, strict=True):  # the first commit was measured last
        commit = Commit(id=commit_id, dirty=False, branch="main")
        store.save(replace(make_run(day=day, fast=1.0), commit=commit, generation=f"2026-11-0{day}T08:00:00Z"))
    words = ["--store", str(store.path), "--format", "json"]
    assert main(["history", "test_fast", *words]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    times = [point["taken_at"][8:10] for point in found["points"]]
    assert times == (["03", "01", "02"] if known else ["01", "02", "03"])
    assert [point["value"] > 0 for point in found["points"]] == [True] * 3


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_gets_every_verb_and_option(shell, capsys):
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "older-than" in script
    assert "setup-android" in script or "setup_android" in script


def test_without_shtab_it_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "shtab", None)
    assert main(["completion", "bash"]) == 4
    assert "pip install 'pytest-devperf[completion]'" in capsys.readouterr().err

"""`devperf prune` lists what it would delete, and never deletes a baseline unasked."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from pytest_devperf.cli import main


def _save(store, make_run, *, label="main", days=range(1, 6), **fields):
    for day in days:
        store.save(make_run(label, day, fast=1.0, **fields))


def _times(store, label="main"):
    return [run.taken_at[8:10] for run in store.runs("0123456789ab", label)]


def test_nothing_is_deleted_without_delete(store, make_run, capsys):
    _save(store, make_run)
    assert main(["prune", "--keep", "2"]) == 0
    output = capsys.readouterr().out
    assert "2026-11-03T08:00:00Z" in output
    assert "2026-11-04T08:00:00Z" not in output
    assert output.splitlines()[-1] == "3 runs would be deleted: add --delete"
    assert _times(store) == ["05", "04", "03", "02", "01"]


def test_the_newest_runs_are_kept(store, make_run, capsys):
    _save(store, make_run)
    _save(store, make_run, label="other", days=[1])
    assert main(["prune", "--keep", "2", "--delete"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "3 runs deleted"
    assert _times(store) == ["05", "04"]
    assert _times(store, "other") == ["01"]


def test_old_runs_go_but_for_the_newest_generation(store, make_run):
    _save(store, make_run)
    store.save(replace(make_run("main", 6, fast=1.0), generation="2026-11-05T08:00:00Z"))
    assert main(["prune", "--older-than", "0", "--delete"]) == 0
    assert _times(store) == ["06", "05"]


def test_age_and_number_together_delete_what_both_allow(store, make_run, capsys):
    _save(store, make_run)
    assert main(["prune", "--older-than", "36500", "--keep", "1", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"deleted": False, "runs": []}


def test_a_label_goes_wholly_only_by_its_name(store, make_run, capsys):
    _save(store, make_run)
    _save(store, make_run, label="other", days=[1, 2])
    assert main(["prune", "--keep", "0"]) == 4
    assert "--keep 0 would delete every baseline: name labels with --label" in capsys.readouterr().err
    assert main(["prune", "--keep", "0", "--label", "other", "--delete", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["deleted"] is True
    assert [each["label"] for each in found["runs"]] == ["other", "other"]
    assert _times(store, "other") == []
    assert len(_times(store)) == 5
    assert not list(store.path.glob("*/other"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "nothing is chosen: add --keep N or --older-than DAYS"),
        (["--keep", "-1"], "must be a whole number of at least 0"),
        (["--keep", "1.5"], "must be a whole number of at least 0"),
        (["--older-than", "nan"], "must be a number of days"),
        (["--older-than", "1e9"], "must be a number of days"),
    ],
)
def test_a_bad_choice_is_refused(store, words, says, capsys):
    try:
        code = main(["prune", *words])
    except SystemExit as ended:
        code = ended.code
    assert code == 4
    assert says in capsys.readouterr().err


def test_a_damaged_file_stops_it_before_anything_is_deleted(store, make_run, capsys):
    _save(store, make_run)
    damaged = min(store.path.glob("*/main/*.json"))
    damaged.write_text("{")
    assert main(["prune", "--keep", "1", "--delete"]) == 4
    assert damaged.name in capsys.readouterr().err
    assert len(list(store.path.glob("*/main/*.json"))) == 5

"""A case over all its saved runs, and the commits that changed it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pytest_devperf.cli import main
from pytest_devperf.record.record import Commit, WorkloadRecord


def save_days(store, make_run, speeds, **fields):
    for day, ms in enumerate(speeds, 1):
        commit = Commit(id=f"{day:02}abcdef012345", dirty=False, branch="main")
        store.save(replace(make_run(day=day, fast=ms, steady=2.0, **fields), commit=commit))


def test_the_commit_of_a_slowdown_is_named(store, make_run, capsys):
    pytest.importorskip("ruptures")
    save_days(store, make_run, [1.0] * 6 + [1.1] * 5)

    assert main(["history", "test_fast"]) == 0

    output = capsys.readouterr().out
    assert "test_a.py::test_fast: latency, 11 runs of main" in output
    assert "2026-11-07T08:00:00Z  07abcdef0123 on main" in output
    assert output.splitlines()[-1].startswith("slower +10.0 % since 07abcdef0123 on main: 1.002 ms -> 1.102 ms")
    assert output.splitlines()[-1].endswith("the last commit before is 06abcdef0123 on main")


def test_a_steady_case_has_no_change(store, make_run, capsys):
    save_days(store, make_run, [1.0] * 6 + [1.1] * 5)

    assert main(["history", "test_steady", "--label", "main", "--metric", "latency"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no lasting change of level"


def test_runs_of_another_workload_are_shown_and_not_compared(store, make_run, capsys):
    save_days(store, make_run, [1.0] * 4)
    for day in range(5, 10):
        made = make_run(day=day, fast=3.0)
        other = tuple(replace(each, workload=WorkloadRecord(fingerprint="x", kind="call")) for each in made.cases)
        store.save(replace(made, cases=other))

    assert main(["history", "test_fast"]) == 0
    output = capsys.readouterr().out
    assert output.count("other workload") == 4
    assert output.splitlines()[-1] == "no lasting change of level"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["nothing"], "use one of test_a.py::test_fast, test_a.py::test_steady"),
        (["test_a"], "is part of several case ids"),
        (["test_fast", "--metric", "load"], "no run of the label contains load of test_fast"),
        (["test_fast", "--label", "none"], "no label named 'none'"),
    ],
)
def test_an_unknown_name_is_reported_with_the_existing_ones(store, make_run, capsys, words, hint):
    save_days(store, make_run, [1.0])

    assert main(["history", *words]) == 4
    assert hint in capsys.readouterr().err


def test_several_labels_ask_for_one(store, make_run, capsys):
    save_days(store, make_run, [1.0])
    save_days(store, make_run, [1.0], label="other")

    assert main(["history", "test_fast"]) == 4
    assert "name one with --label" in capsys.readouterr().err

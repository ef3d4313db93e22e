"""The noise of a label's runs of unchanged code."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pytest_devperf.cli import main
from pytest_devperf.record.record import DeviceRecord

OTHER = DeviceRecord(fingerprint="ba9876543210", kind="host", soc="Another CPU", cores=4)


def appended(store, make_run, *speeds, **fields):
    """Runs of one generation, one per day."""
    for day, ms in enumerate(speeds, 1):
        made = make_run(day=day, fast=ms, **fields)
        store.save(replace(made, generation="2026-11-01T08:00:00Z"))


def test_runs_of_a_generation_give_a_tolerance_to_paste(store, make_run, capsys):
    appended(store, make_run, 1.0, 1.001, 1.0)

    assert main(["noise", "main"]) == 0

    output = capsys.readouterr().out
    assert "3 runs, 2026-11-01T08:00:00Z to 2026-11-03T08:00:00Z" in output
    assert "false alarms: 0 of 6 comparisons (0.0 %)" in output
    assert output.splitlines()[-1] == "devperf_tolerance = latency=2%"


def test_runs_that_stray_ask_for_a_wider_tolerance(store, make_run, capsys):
    appended(store, make_run, 1.0, 1.08, 1.08, 1.0)

    assert main(["noise", "main"]) == 0

    assert capsys.readouterr().out.splitlines()[-1] == "devperf_tolerance = latency=8.5%"


def test_older_generations_count_only_on_request(store, make_run, capsys):
    store.save(make_run(day=1, fast=1.0))
    store.save(make_run(day=2, fast=1.0))

    assert main(["noise", "main"]) == 4
    assert "--devperf-append" in capsys.readouterr().err
    assert main(["noise", "main", "--all"]) == 0


def test_every_device_has_its_own_table(store, make_run, capsys):
    appended(store, make_run, 1.0, 1.0)
    appended(store, make_run, 1.0, 1.0, device=OTHER)

    assert main(["noise", "main"]) == 0
    both = capsys.readouterr().out
    assert "Example CPU" in both
    assert "Another CPU" in both
    assert main(["noise", "main", "--device", "ba98"]) == 0
    assert "Example CPU" not in capsys.readouterr().out


@pytest.mark.parametrize("words", [["none"], ["main", "--device", "ffff"]])
def test_an_unknown_label_is_reported_with_the_existing_ones(store, make_run, capsys, words):
    appended(store, make_run, 1.0, 1.0)

    assert main(["noise", *words]) == 4
    assert "'main' of host 0123456789ab" in capsys.readouterr().err

"""Old and new code in turns on virtual devices; everything seeded, nothing waits."""

from __future__ import annotations

import pytest

from benchmarks.verdicts.__main__ import main
from benchmarks.verdicts.devices import kind_named
from benchmarks.verdicts.paired import measure_pairs, paired_session
from benchmarks.verdicts.session import bench
from benchmarks.verdicts.trial import Score, try_paired
from pytest_devperf.compare.in_turns.metric import LOOKS

DRIFTING = ("governor", "thermal", "clock falls once", "bursts", "day to day", "laptop")
STARTS_DIFFER = ("big.LITTLE", "layout 3 %", "layout, heavy tail", "cloud runner")
MACHINES = 2
"""Of every kind, each with a suite of 16 cases."""


def tried(names: tuple[str, ...]) -> Score:
    total = Score()
    for name in names:
        for seed in range(MACHINES):
            for score in try_paired(bench(kind_named(name), seed), seed).values():
                total.add(score)
    return total


@pytest.fixture(scope="module")
def drifting() -> Score:
    return tried(DRIFTING)


@pytest.fixture(scope="module")
def starts_differ() -> Score:
    return tried(STARTS_DIFFER)


def test_what_drifts_fails_no_unchanged_code(drifting):
    assert drifting.percent_failed(0.0) <= 0.5


@pytest.mark.parametrize("effect", [0.03, 0.05, 0.10])
def test_what_drifts_hides_no_real_change(drifting, effect):
    assert drifting.percent_failed(effect) >= 95.0


def test_unchanged_code_fails_in_at_most_3_of_100_cases_if_process_starts_differ(starts_differ):
    assert starts_differ.percent_failed(0.0) <= 3.0


def test_a_change_of_10_percent_is_found_in_most_cases_if_process_starts_differ(starts_differ):
    assert starts_differ.percent_failed(0.10) >= 90.0


def test_both_sides_take_their_rounds_in_pairs_and_leave_out_the_ones_that_get_ready():
    _, both = measure_pairs(bench(kind_named("quiet"), 0, count=2), {})

    for two in both:
        rounds = [[len(result.rounds) for result in side.start_results] for side in (two.old, two.new)]
        kept = [taken for side in (two.old, two.new) for taken in side.rounds]
        # The first pair has two rounds of each side, and shows how many the others need.
        assert rounds[0] == rounds[1]
        assert rounds[0][0] == 2
        assert {len(taken.samples_ns) for taken in kept} == {30}
        assert two.spare == 30 + 2 * 3 * 10


def test_a_change_takes_more_pairs_than_none_and_never_more_than_there_are_looks():
    on = bench(kind_named("layout 3 %"), 0, count=4)
    _, both = measure_pairs(on, dict.fromkeys([case.id for case in on.cases], 0.04))

    assert all(3 < len(two.new.start_results) <= max(LOOKS) for two in both)


def test_the_truth_reaches_the_new_side_alone():
    on = bench(kind_named("quiet"), 1)
    truth = dict.fromkeys([case.id for case in on.cases], 0.10)

    outcomes = paired_session(on, truth)

    assert all(outcome.failed for outcome in outcomes)
    assert all(abs(outcome.comparison.changes[0].delta_pct - 10) < 1 for outcome in outcomes)


def test_turns_alone_print_a_table_that_a_seed_repeats(capsys):
    command = ["--paired", "--trials", "1", "--devices", "quiet", "layout 1 %", "--workers", "1"]

    tables = []
    for _ in range(2):
        assert main(command) == 0
        tables.append(capsys.readouterr().out.partition("\n")[2])

    assert tables[0] == tables[1]
    assert "devperf, paired" in tables[0]


def test_help_names_the_devices(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])

    assert "layout" in capsys.readouterr().out

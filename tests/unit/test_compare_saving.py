"""Whether a run that is saved makes a baseline that comparisons can rest on."""

from __future__ import annotations

import math

from rule_samples import record, scalars, timed

from pytest_devperf.compare.looks import MOST_SAVED, SAVED_AT_A_TIME, Further
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.stopping.saving import blind_when_saved, more_to_save

POLICY = Policy()
ALIKE = [1e6 + 1e3 * (place % 3) for place in range(12)]
SCATTERED = [1e6 * (1 + 0.01 * place) for place in range(12)]


def saved(floors, **fields):
    return record(timed(floors, per_start=1, **fields))


def test_alike_starts_are_enough() -> None:
    assert more_to_save(saved(ALIKE), POLICY) is None


def test_starts_that_differ_ask_for_more_of_them() -> None:
    assert more_to_save(saved(SCATTERED), POLICY) == Further(starts=SAVED_AT_A_TIME, rounds=1)


def test_a_wider_tolerance_needs_no_better_baseline() -> None:
    assert more_to_save(saved(SCATTERED), Policy(tolerance={"latency": 0.2})) is None


def test_there_is_an_end_to_it() -> None:
    assert more_to_save(saved(SCATTERED * 2), POLICY) is None
    nearly = SCATTERED + SCATTERED[: MOST_SAVED - 12 - 2]
    assert more_to_save(saved(nearly), POLICY) == Further(starts=2, rounds=1)


def test_a_machine_that_changed_is_no_difference_between_starts() -> None:
    anchors = [floor / 200 for floor in SCATTERED]
    assert more_to_save(saved(SCATTERED, anchors_ns=anchors), POLICY) is None
    assert more_to_save(saved(SCATTERED, anchors_ns=anchors), Policy(anchor=False)) is not None


def test_a_quiet_baseline_sees_everything_worth_the_name() -> None:
    assert blind_when_saved(saved(ALIKE), POLICY) == {}


def test_a_metric_that_hides_a_quarter_is_named_with_what_it_would_show() -> None:
    (found,) = blind_when_saved(saved(ALIKE, width_ns=400_000.0), POLICY).items()
    assert found[0] == "latency"
    assert 0.35 < found[1] < 0.45
    assert more_to_save(saved(ALIKE, width_ns=400_000.0), POLICY) is not None


def test_how_much_may_be_hidden_is_chosen() -> None:
    wide = saved(ALIKE, width_ns=400_000.0)
    assert blind_when_saved(wide, Policy(blind=0.5)) == {}
    assert blind_when_saved(wide, Policy(tolerance={"latency": 0.5})) == {}


def test_a_single_start_shows_nothing_about_others() -> None:
    alone = record(timed([1e6], per_start=12))
    assert (more_to_save(alone, POLICY), blind_when_saved(alone, POLICY)) == (None, {})


def test_what_is_no_duration_is_left_to_the_comparison() -> None:
    broken = record(timed(ALIKE), scalars([math.nan] * 3, kind="memory"))
    assert more_to_save(broken, POLICY) is None

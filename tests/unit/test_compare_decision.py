"""What a case needs next, asked as a session does: start by start."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rule_samples import baseline, record, scalars, timed

from pytest_devperf.case.plan import Plan, rounds_of_first_look
from pytest_devperf.compare.in_turns.case import InTurnsSoFar
from pytest_devperf.compare.looks import FIRST_STARTS, MOST_SAVED, MOST_STARTS, SAVED_STARTS
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.stopping.decision import (
    Judged,
    MoreStarts,
    Saved,
    next_in_turns,
    next_of_comparison,
    next_of_saving,
    starts_of,
)
from pytest_devperf.record.derived import derive
from pytest_devperf.record.record import Confirmation

POLICY = Policy()
FIRST = Plan(processes=FIRST_STARTS)
SAVING = Plan(processes=SAVED_STARTS)
QUIET = [1e6 + 1e3 * (place % 3) for place in range(SAVED_STARTS)]
BEFORE = baseline(record(timed(QUIET, per_start=1)))


def first_look(floors, *, early: bool = False, anchors_ns: float | None = None, starts: int | None = None):
    """A first look, or what there is of it; each start with the rounds it is asked for."""
    counts = [rounds_of_first_look(12, FIRST_STARTS, process) for process in range(FIRST_STARTS)][:starts]
    rows = [row for floor, count in zip(floors, counts, strict=False) for row in timed([floor]).samples_ns[:1] * count]
    process = tuple(start for start, count in enumerate(counts) for _ in range(count))
    return record(
        derive(
            replace(
                timed([1e6]),
                samples_ns=tuple(rows),
                process=process[: len(rows)],
                anchor_ns=(anchors_ns,) * len(rows) if anchors_ns else (),
                planned_rounds=12,
                stop="early-pass" if early else "done",
            )
        ),
        processes=FIRST_STARTS,
    )


def looked_again(floors, again):
    found = first_look(floors)
    (metric,) = found.metrics
    more = timed(again)
    confirmation = Confirmation(process=more.process, samples_ns=more.samples_ns)
    return replace(found, metrics=(replace(metric, confirmation=confirmation),))


def compared(so_far, before=BEFORE, policy: Policy = POLICY):
    return next_of_comparison(so_far, before, policy, FIRST)


# -- compared with saved runs -----------------------------------------------------------------------


def test_a_first_look_spreads_twelve_rounds_over_six_starts() -> None:
    assert compared(None) == MoreStarts(role="first", rounds=(3, 2, 2, 2, 2, 1))


def test_unchanged_code_passes_in_the_first_start() -> None:
    decision = compared(first_look([1e6], early=True, starts=1))
    assert isinstance(decision, Judged)
    assert decision.comparison.verdict == "within_noise"


def test_a_first_look_goes_on_until_it_is_over() -> None:
    assert compared(first_look([1.1e6] * 2, starts=2)) == MoreStarts(role="first", rounds=(2, 2, 2, 1))


def test_a_machine_that_explains_the_change_ends_the_first_look_after_two_starts() -> None:
    before = baseline(record(timed(QUIET, per_start=1, anchors_ns=5000)))
    one, two = (first_look([1.1e6] * count, starts=count, anchors_ns=5500) for count in (1, 2))
    assert compared(one, before) == MoreStarts(role="first", rounds=(2, 2, 2, 2, 1))
    decision = compared(two, before)
    assert isinstance(decision, Judged)
    assert decision.comparison.changes[0].stopped_by == "anchor"


def test_a_suspect_is_measured_again_and_shows_why() -> None:
    decision = compared(first_look([1.1e6] * 6))
    assert decision == MoreStarts(role="confirming", rounds=(2,) * 6)
    assert "find the change again" in decision.reason


def test_a_suspect_that_is_found_again_is_judged() -> None:
    decision = compared(looked_again([1.1e6] * 6, [1.1e6] * 6))
    assert isinstance(decision, Judged)
    assert decision.comparison.verdict == "regressed"


def test_a_suspect_that_is_not_found_again_is_judged() -> None:
    decision = compared(looked_again([1.1e6] * 6, [1e6] * 6))
    assert isinstance(decision, Judged)
    assert decision.comparison.changes[0].stopped_by == "confirm"


SCATTERED = [1_000_000, 1_060_000, 1_090_000, 1_070_000, 1_050_000, 1_080_000]


def test_what_starts_do_not_prove_yet_takes_more_of_them() -> None:
    slow = [1.04 * floor for floor in SCATTERED]
    before = baseline(record(timed(SCATTERED * 2, per_start=1)))
    assert isinstance(compared(looked_again(slow, slow), before), Judged)
    among_many = Policy(metrics=1_000)
    assert compared(looked_again(slow, slow), before, among_many) == MoreStarts(role="more", rounds=(1,) * 6)


def test_a_test_that_failed_is_judged_at_once() -> None:
    decision = compared(replace(first_look([1e6], starts=1), outcome="failed"))
    assert isinstance(decision, Judged)
    assert decision.comparison.verdict == "skipped"


def test_a_case_without_rounds_needs_no_first_look() -> None:
    before = baseline(record(scalars([10.0] * 3)))
    assert isinstance(compared(record(scalars([10.0] * 3)), before), Judged)


def test_a_slow_case_spreads_the_rounds_that_the_budget_has_room_for() -> None:
    (metric,) = first_look([1.1e6], starts=1).metrics
    assert compared(record(replace(metric, planned_rounds=6))) == MoreStarts(role="first", rounds=(1,) * 5)


# -- saving -----------------------------------------------------------------------------------------


def test_a_saved_run_has_twelve_starts_of_one_round() -> None:
    assert next_of_saving(None, POLICY, SAVING) == MoreStarts(role="saving", rounds=(1,) * 12)
    part = record(timed(QUIET[:5], per_start=1, planned_rounds=12))
    assert next_of_saving(part, POLICY, SAVING) == MoreStarts(role="saving", rounds=(1,) * 7)


def test_a_saved_run_whose_starts_differ_has_more() -> None:
    decision = next_of_saving(record(timed(SCATTERED * 2, per_start=1)), POLICY, SAVING)
    assert decision == MoreStarts(role="saving", rounds=(1,) * 6)
    assert "starts differ" in decision.reason


def test_a_quiet_run_is_saved() -> None:
    assert next_of_saving(record(timed(QUIET, per_start=1)), POLICY, SAVING) == Saved()


def test_a_run_with_which_nothing_could_be_found_is_saved_and_named() -> None:
    wide = record(timed(QUIET * 2, per_start=1, width_ns=400_000.0))
    decision = next_of_saving(wide, POLICY, SAVING)
    assert isinstance(decision, Saved)
    assert list(decision.blind) == ["latency"]


def test_a_test_that_failed_is_saved_as_it_is() -> None:
    assert next_of_saving(record(timed(SCATTERED), outcome="failed"), POLICY, SAVING) == Saved()


# -- in turns ---------------------------------------------------------------------------------------


def test_the_first_pair_comes_alone_and_shows_how_many_rounds_the_others_need() -> None:
    assert next_in_turns(None) == MoreStarts(role="pair", rounds=(2,))
    so_far = InTurnsSoFar(changes=(), pairs=1, next_look=3, rounds=1)
    assert next_in_turns(so_far) == MoreStarts(role="pair", rounds=(1, 1))


def test_a_case_whose_metrics_are_all_decided_takes_no_more_pairs() -> None:
    assert next_in_turns(InTurnsSoFar(changes=(), pairs=4, next_look=None, rounds=2)) is None


# -- properties -------------------------------------------------------------------------------------

FLOORS = st.lists(st.floats(min_value=0.9e6, max_value=1.2e6), min_size=60, max_size=60)


@settings(max_examples=30)
@given(FLOORS, FLOORS)
def test_every_comparison_ends_within_its_limit(base, now) -> None:
    before = baseline(record(timed(base[:12], per_start=1)))
    so_far, first, again = None, 0, 0
    while isinstance(decision := compared(so_far, before), MoreStarts):
        if decision.role == "first":
            first += 1
            so_far = first_look(now[:first], starts=first)
        else:
            again += len(decision.rounds)
            so_far = looked_again(now[:FIRST_STARTS], now[FIRST_STARTS : FIRST_STARTS + again])
        assert first <= FIRST_STARTS
        assert again <= MOST_STARTS
    assert decision.comparison.verdict


@settings(max_examples=30)
@given(FLOORS)
def test_every_saving_ends_within_its_limit(floors) -> None:
    so_far = None
    while isinstance(decision := next_of_saving(so_far, POLICY, SAVING), MoreStarts):
        count = (0 if so_far is None else starts_of(so_far)) + len(decision.rounds)
        assert count <= MOST_SAVED
        so_far = record(timed(floors[:count], per_start=1))
    assert isinstance(decision, Saved)


@pytest.mark.parametrize("role", ["first", "confirming", "more", "saving", "pair"])
def test_every_role_has_its_reason(role) -> None:
    assert MoreStarts(role=role, rounds=(1,)).reason

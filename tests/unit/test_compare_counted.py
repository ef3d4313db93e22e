"""Verdicts of counted instructions, and what they have to do with those of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest
from counted import COUNTING
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf.compare.compare import compare
from pytest_devperf.compare.history import Baseline, BaselineRun
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.rule.counted import awaits_recount, disagreement, judge_count, unlike_counting
from pytest_devperf.compare.words import sentence
from pytest_devperf.metric import IR, count_metric
from pytest_devperf.record.derived import derive
from pytest_devperf.record.measurement import count_measurement, with_confirmation
from pytest_devperf.record.record import Change, Counting, DeviceRecord, Measurement, Record, WorkloadRecord

POLICY = Policy()


def counts(*layouts: float, name: str = "latency") -> Measurement:
    return count_measurement(count_metric(name), [[each] * 5 for each in layouts], [1] * len(layouts), loops=1)


def again(first: Measurement, *layouts: float) -> Measurement:
    return with_confirmation(first, [[each] * 5 for each in layouts], [2] * len(layouts))


def latency(ms: float) -> Measurement:
    ns = tuple(ms * 1e6 * (1 + wobble / 1000) for wobble in range(5))
    return derive(
        Measurement(
            name="latency",
            unit="ms",
            main=True,
            process=tuple(range(6)),
            samples_ns=(ns,) * 6,
            inner_loops=1,
            stop="done",
        )
    )


def record(*metrics: Measurement, counting: Counting | None = COUNTING, **fields: object) -> Record:
    return Record(
        id="a::b",
        workload=WorkloadRecord(fingerprint="f", kind="call"),
        metrics=metrics,
        counting=counting,
        processes=6,
        **fields,  # type: ignore[arg-type] # the test names the fields
    )


def baseline(*records: Record, same_device: bool = True) -> Baseline:
    runs = tuple(
        BaselineRun(run_id=str(at), taken_at=f"2026-01-0{at + 1}", commit=None, settings={}, record=each)
        for at, each in enumerate(records)
    )
    device = DeviceRecord(fingerprint="d", kind="host", model="one")
    return Baseline(case_id="a::b", device=device, same_device=same_device, runs=runs)


def test_the_centre_is_the_median_of_the_layouts_and_the_iqr_their_range() -> None:
    held = counts(1000.0, 1010.0, 1004.0)
    assert (held.robust, held.iqr, held.unit, held.kind) == (1004.0, 10.0, IR, "counted")


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        (100_000, "within_noise"),
        (100_500, "within_noise"),
        (100_501, "suspect"),
        (99_500, "within_noise"),
        (99_499, "improved"),
    ],
)
def test_half_a_percent_is_tolerated(now: float, verdict: str) -> None:
    change = judge_count(counts(now), [counts(100_000)], POLICY)
    assert (change.verdict, change.threshold, change.decided_by) == (verdict, 500.0, "tolerance")


def test_a_tolerance_is_given_by_name_or_kind_but_not_for_times() -> None:
    for name, verdict in (("instructions", "within_noise"), ("counted", "within_noise"), ("*", "suspect")):
        assert judge_count(counts(100_900), [counts(100_000)], Policy(tolerance={name: 0.01})).verdict == verdict


def test_layouts_that_differ_by_more_raise_the_threshold() -> None:
    change = judge_count(counts(101_000, 100_900, 101_000), [counts(99_500, 100_000, 100_600)], POLICY)
    assert (change.verdict, change.decided_by, change.threshold) == ("within_noise", "iqr", 1100.0)


def test_a_suspect_is_a_regression_if_counting_again_finds_it_again() -> None:
    first = counts(101_000)
    unconfirmed = judge_count(first, [counts(100_000)], POLICY)
    assert (unconfirmed.verdict, unconfirmed.stopped_by, unconfirmed.confirmed) == ("suspect", "unconfirmed", None)
    found = judge_count(again(first, 101_000.0), [counts(100_000)], POLICY)
    assert (found.verdict, found.confirmed) == ("regressed", True)
    lost = judge_count(again(first, 100_400.0), [counts(100_000)], POLICY)
    assert (lost.verdict, lost.stopped_by) == ("suspect", "confirm")
    assert sentence(lost).endswith("beyond the tolerance of 0.50 %; counting again did not find it")


def test_without_confirmation_or_by_the_literal_rule_a_change_counts_at_once() -> None:
    assert judge_count(counts(101_000), [counts(100_000)], Policy(confirm=False)).verdict == "regressed"
    assert judge_count(counts(100_001), [counts(100_000)], Policy(rule="iqr")).verdict == "regressed"


@given(
    st.lists(st.floats(1e3, 1e9), min_size=1, max_size=3),
    st.lists(st.floats(1e3, 1e9), min_size=1, max_size=3),
)
def test_a_change_and_its_reverse_are_never_both_worse(then: Sequence[float], now: Sequence[float]) -> None:
    there, back = (judge_count(counts(*a), [counts(*b)], POLICY).verdict for a, b in ((now, then), (then, now)))
    assert {there, back} != {"suspect"}


@given(st.lists(st.floats(1e3, 1e9), min_size=1, max_size=3))
def test_equal_counts_are_within_noise(layouts: Sequence[float]) -> None:
    assert judge_count(counts(*layouts), [counts(*layouts)], POLICY).verdict == "within_noise"


# -- what is comparable ---------------------------------------------------------------------------


def verdict_of(
    now: Record, then: Record, *, same_device: bool = True, policy: Policy = POLICY
) -> tuple[str, str | None]:
    compared = compare(now, baseline(then, same_device=same_device), policy)
    changes = {change.metric: change for change in compared.changes}
    counted = changes.get("instructions")
    return compared.verdict, counted.verdict if counted is not None else None


def test_another_device_or_heat_refuses_time_but_no_count() -> None:
    both = record(latency(1.0), counts(1000.0))
    assert verdict_of(both, both, same_device=False) == ("incomparable", "within_noise")
    hot = msgspec.structs.replace(both, cautions=("throttled",))
    assert verdict_of(hot, both) == ("incomparable", "within_noise")
    assert verdict_of(record(counts(1000.0), cautions=("throttled",)), both) == ("within_noise", "within_noise")


def test_a_regression_of_counts_is_one_although_time_cannot_be_compared() -> None:
    now = record(latency(1.0), again(counts(2000.0), 2000.0), cautions=("throttled",))
    assert verdict_of(now, record(latency(1.0), counts(1000.0))) == ("regressed", "regressed")


def test_a_canary_that_differs_refuses_counts_but_no_time() -> None:
    then = record(latency(1.0), counts(1000.0))
    now = msgspec.structs.replace(then, counting=msgspec.structs.replace(COUNTING, canary={"a": 11}))
    compared = compare(now, baseline(then), POLICY)
    assert {change.metric: change.verdict for change in compared.changes} == {
        "latency": "within_noise",
        "instructions": "incomparable",
    }
    assert compared.reason is not None
    assert (
        "instructions: the canary 'a', fixed work, took 10 instructions in the baseline and 11 now" in compared.reason
    )


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("tool", "valgrind-3.22.0", "counted with valgrind valgrind-3.19.0 in the baseline and valgrind-3.22.0 now"),
        ("python", "CPython 3.12.1", "counted with Python CPython 3.11.7 in the baseline and CPython 3.12.1 now"),
        ("allocator", "default", "counted with allocator tcache in the baseline and default now"),
    ],
)
def test_what_counts_otherwise_is_named(field: str, value: str, words: str) -> None:
    other = msgspec.structs.replace(COUNTING, **{field: value})
    assert str(unlike_counting(other, COUNTING)).startswith(words)
    assert unlike_counting(COUNTING, COUNTING) is None


def test_another_c_library_is_alike_if_the_canary_is() -> None:
    assert unlike_counting(msgspec.structs.replace(COUNTING, libc="glibc 2.39"), COUNTING) is None


def test_another_workload_or_a_tracer_refuses_counts() -> None:
    then = record(counts(1000.0))
    other = msgspec.structs.replace(then, workload=WorkloadRecord(fingerprint="g", kind="call"))
    assert verdict_of(other, then) == ("incomparable", "incomparable")
    traced = msgspec.structs.replace(then, cautions=("instrumented",))
    assert verdict_of(traced, then) == ("incomparable", "incomparable")
    assert verdict_of(traced, then, policy=Policy(accept=frozenset({"instrumented"})))[1] == "within_noise"


def test_times_that_nobody_asked_for_are_not_lost() -> None:
    then = record(latency(1.0), counts(1000.0))
    compared = compare(record(counts(1000.0)), baseline(then), POLICY)
    assert [change.metric for change in compared.changes] == ["instructions"]
    assert compared.verdict == "within_noise"


def test_counts_that_nobody_asked_for_are_a_note_and_those_that_failed_are_incomparable() -> None:
    then = record(latency(1.0), counts(1000.0))
    unasked = compare(record(latency(1.0), counting=None), baseline(then), POLICY)
    assert unasked.verdict == "within_noise"
    assert "the baseline has instructions, which --devperf-count counts" in unasked.notes
    failed = record(
        latency(1.0), counting=None, cautions=("not-counted",), caution_notes={"not-counted": "it would take 90 s"}
    )
    compared = compare(failed, baseline(then), POLICY)
    assert {change.metric: change.reason for change in compared.changes}["instructions"] == "it would take 90 s"
    assert compared.verdict == "incomparable"


def test_older_runs_that_were_counted_alike_belong_to_the_baseline() -> None:
    other = msgspec.structs.replace(COUNTING, canary={"a": 11})
    runs = baseline(record(counts(1000.0)), record(counts(1020.0)), record(counts(5000.0), counting=other))
    compared = compare(record(counts(1015.0)), runs, POLICY)
    (change,) = compared.changes
    assert (change.baseline, change.iqr_baseline, change.verdict) == (1010.0, 20.0, "within_noise")


# -- time and counts ------------------------------------------------------------------------------


def test_slower_by_the_clock_without_more_instructions_is_explained() -> None:
    now = record(latency(1.5), counts(1000.0))
    compared = compare(now, baseline(record(latency(1.0), counts(1000.0))), Policy(confirm=False))
    assert compared.disagreement is not None
    assert compared.disagreement.startswith(
        "latency is slower by the clock (+50.0 %), with no more instructions (+0.00 %)"
    )
    assert compared.disagreement.endswith(": memory, waiting, or the machine")


@pytest.mark.parametrize(
    ("timed", "counted", "expected"),
    [
        ("regressed", "regressed", None),
        ("within_noise", "within_noise", None),
        ("incomparable", "regressed", None),
        ("within_noise", "regressed", "is no slower by the clock"),
        ("suspect", "improved", "with fewer instructions"),
    ],
)
def test_only_a_disagreement_is_explained(timed: str, counted: str, expected: str | None) -> None:
    changes = [
        Change(metric="latency.x", verdict=timed, delta_pct=None if timed == "incomparable" else 1.0),  # type: ignore[arg-type]
        Change(metric="instructions.x", verdict=counted, unit=IR, delta_pct=2.0),  # type: ignore[arg-type]
    ]
    found = disagreement(changes)
    assert found is None if expected is None else expected in str(found)


def test_a_count_belongs_to_the_time_of_the_same_name() -> None:
    slower = Change(metric="execute.forward", verdict="regressed", delta_pct=9.0)
    same = Change(metric="instructions.execute.forward", verdict="within_noise", unit=IR, delta_pct=0.0)
    assert "execute.forward is slower" in str(disagreement([slower, same]))
    assert disagreement([Change(metric="load", verdict="regressed", delta_pct=9.0), same]) is None


def test_only_an_unconfirmed_count_asks_for_another_count() -> None:
    then = baseline(record(counts(1000.0)))
    assert awaits_recount(compare(record(counts(1100.0)), then, POLICY))
    assert not awaits_recount(compare(record(again(counts(1100.0), 1100.0)), then, POLICY))
    assert not awaits_recount(compare(record(counts(1100.0)), then, replace(POLICY, confirm=False)))

"""What may be compared at all, and the cautions beside."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace
from rule_samples import ANCHOR, PHONE, baseline, only, record, scalars, timed

from pytest_devperf.compare.compare import WORST_FIRST, compare, worst
from pytest_devperf.compare.history import Baseline
from pytest_devperf.compare.policy import Policy
from pytest_devperf.metric import INFORMATIONAL
from pytest_devperf.record.caution import CAUTIONS
from pytest_devperf.record.record import Change, Commit, DeviceRecord, Measurement, Record, WorkloadRecord
from pytest_devperf.sensor.context import CpuSet
from pytest_devperf.sensor.run_context import ClockState, RunContext

POLICY = Policy()
SAME = timed([1_000_000] * 3)
SLOW = timed([1_100_000] * 3, again=[1_100_000] * 3)


def context(**fields) -> RunContext:
    return RunContext(**{"anchor": ANCHOR, **fields})


def compared(now: Record, *saved: Record, policy: Policy = POLICY, **fields):
    return compare(now, baseline(*saved, **fields), policy)


def pair(now: RunContext, then: RunContext, policy: Policy = POLICY, **fields):
    return compared(record(SAME, run_context=now), record(SAME, run_context=then), policy=policy, **fields)


# -- always incomparable ----------------------------------------------------------------------------


def assert_never_a_delta(comparison, words: str) -> None:
    assert comparison.verdict == "incomparable"
    assert words in comparison.reason
    assert all(change.delta is None and change.verdict == "incomparable" for change in comparison.changes)


def test_another_device_is_incomparable_and_named() -> None:
    assert_never_a_delta(compared(record(SLOW), record(SAME), device=PHONE, same_device=False), "another device (Phone")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"manufacturer": "Maker", "model": "Board", "soc": "chip"}, "(Maker Board, 0123456789ab)"),
        ({"soc": "chip"}, "(chip, 0123456789ab)"),
        ({}, "(host, 0123456789ab)"),
    ],
)
def test_another_device_is_named_by_the_best_name_it_has(facts, words) -> None:
    device = DeviceRecord(fingerprint="0123456789ab", kind="host", **facts)
    assert_never_a_delta(compared(record(SLOW), record(SAME), device=device, same_device=False), words)


def test_what_is_refused_keeps_its_values_and_the_runs_it_was_refused_against() -> None:
    shown = scalars([1.0] * 3, name=next(iter(INFORMATIONAL)))
    boxes = scalars([2.0] * 3, kind="recorded", better="higher")
    left_out = record(SAME, cautions=("slept",))
    found = compared(record(SAME, shown, boxes, iterations=20), record(SAME), left_out)
    reason = "30 iterations per round in the baseline, 20 now"
    assert found.changes == (
        Change(metric="latency", verdict="incomparable", candidate=SAME.robust, reason=reason),
        Change(metric="boxes", verdict="incomparable", unit="boxes", better="higher", candidate=2.0, reason=reason),
    )
    assert found.baseline_runs == ("run0",)
    assert found.notes == ("baseline run of 2026-11-28T00:00:00Z left out: slept",)


def test_another_device_leaves_all_runs_of_the_baseline_named() -> None:
    found = compared(record(SAME), record(SAME), record(SAME), same_device=False)
    assert found.baseline_runs == ("run0", "run1")


def test_another_workload_is_incomparable_and_the_reason_names_the_part() -> None:
    now = record(SLOW, workload=WorkloadRecord(fingerprint="other", kind="call", facts={"boxes": 12}))
    then = record(SAME, workload=WorkloadRecord(fingerprint="work", kind="call", facts={"boxes": 11}))
    assert_never_a_delta(compared(now, then), "fact 'boxes'")


@pytest.mark.parametrize(
    ("now", "then", "words"),
    [
        ({"facts": {"boxes": 1}}, {"facts": {}}, "fact 'boxes'"),
        ({"facts": {}}, {"facts": {"boxes": 1}}, "fact 'boxes'"),
        ({"inputs": {"x": {"dtype": "int8"}}}, {"inputs": {"x": {"dtype": "int4"}}}, "input 'x'"),
        ({"kind": "model"}, {}, "call -> model"),
        ({}, {}, "fingerprint then -> now"),
    ],
)
def test_the_part_of_the_workload_that_differs_is_named(now, then, words) -> None:
    sides = [
        record(SAME, workload=WorkloadRecord(**{"fingerprint": name, "kind": "call", **fields}))
        for name, fields in (("now", now), ("then", then))
    ]
    assert_never_a_delta(compared(*sides), f"the workload differs ({words})")


def test_other_iterations_are_incomparable() -> None:
    assert_never_a_delta(compared(record(SLOW, iterations=20), record(SAME)), "30 iterations per round in the baseline")


def test_another_pin_state_is_incomparable() -> None:
    pinned, loose = (context(clock_state=ClockState(pinned=state)) for state in (True, False))
    assert_never_a_delta(pair(pinned, loose), "not pinned in the baseline and are pinned now")


@pytest.mark.parametrize(
    ("pinned_before", "cautions", "remedy"),
    [
        (False, (), "--devperf-pin-clocks=off"),
        (True, (), "--devperf-pin-clocks=on"),
        (True, ("throttled",), "let it cool down first"),
    ],
)
def test_another_pin_state_shows_how_to_get_that_of_the_baseline(pinned_before, cautions, remedy) -> None:
    now, then = (context(clock_state=ClockState(pinned=state)) for state in (not pinned_before, pinned_before))
    found = compared(record(SAME, run_context=now, cautions=cautions), record(SAME, run_context=then))
    word = "pinned" if pinned_before else "not pinned"
    assert_never_a_delta(found, f"clocks were {word} in the baseline")
    assert remedy in found.reason


@pytest.mark.parametrize("known", [0, 1])
def test_a_pin_state_that_one_side_does_not_know_refuses_nothing(known) -> None:
    sides = [context(clock_state=ClockState(pinned=True if place == known else None)) for place in range(2)]
    assert pair(*sides).verdict == "within_noise"


ONE, TWO = CpuSet(cpus="0", usable=1.0), CpuSet(cpus="0-1", usable=2.0)


def test_other_cpus_are_incomparable_and_both_numbers_are_shown() -> None:
    found = pair(context(cpu_set=ONE), context(cpu_set=TWO))
    assert_never_a_delta(found, "cpu-set: the process could use 2 CPUs (0-1) in the baseline and 1 CPU (0) now")


def test_another_quota_is_incomparable() -> None:
    half = CpuSet(cpus="0-1", usable=0.5)
    assert_never_a_delta(pair(context(cpu_set=half), context(cpu_set=TWO)), "2 CPUs (0-1) in the baseline and 0.5 CPUs")


def test_a_lower_cap_names_the_first_policy_whatever_the_hash_seed() -> None:
    caps = {f"policy{number}": 2_000_000 for number in (0, 2, 10, 4, 7)}
    lower = {**caps, **{f"policy{number}": 1_000_000 for number in (10, 4, 2)}}
    found = pair(context(clock_state=ClockState(max_khz=lower)), context(clock_state=ClockState(max_khz=caps)))
    assert found.cautions["clock-capped"] == "policy2 at most 1000 MHz, 2000 MHz in the baseline"


def test_the_same_number_of_cpus_of_another_layout_is_incomparable() -> None:
    siblings = CpuSet(cpus="0-1", usable=2.0, layout="1 core of 2 threads")
    apart = CpuSet(cpus="0,2", usable=2.0, layout="2 cores")
    assert_never_a_delta(
        pair(context(cpu_set=apart), context(cpu_set=siblings)), "1 core of 2 threads, in the baseline"
    )


def test_other_cpus_of_the_same_layout_are_comparable() -> None:
    here, there = (CpuSet(cpus=cpus, usable=2.0, layout="2 cores") for cpus in ("0,2", "4,6"))
    assert pair(context(cpu_set=here), context(cpu_set=there)).verdict == "within_noise"


def test_other_cpus_of_no_known_layout_are_incomparable() -> None:
    here, there = (CpuSet(cpus=cpus, usable=2.0) for cpus in ("0,2", "4,6"))
    assert_never_a_delta(pair(context(cpu_set=here), context(cpu_set=there)), "cpu-set: ")


def test_other_cpus_that_the_user_named_are_incomparable_though_they_are_alike() -> None:
    here, there = (CpuSet(cpus=cpus, usable=1.0, layout="1 core") for cpus in "01")
    now = context(cpu_set=here, env={"affinity": "0"})
    assert_never_a_delta(pair(now, context(cpu_set=there, env={"affinity": "1"})), "1 CPU (1), 1 core, in the baseline")
    assert_never_a_delta(pair(now, context(cpu_set=there)), "cpu-set: ")
    assert pair(now, context(cpu_set=here)).verdict == "within_noise"


def test_cpus_that_one_side_does_not_know_are_reported_and_comparable() -> None:
    found = pair(context(cpu_set=TWO), context())
    assert found.verdict == "within_noise"
    assert found.cautions["unknown-context"] == "CPUs known on one side only"


def test_a_baseline_leaves_runs_on_other_cpus_out() -> None:
    runs = [record(SAME, run_context=context(cpu_set=each)) for each in (TWO, ONE)]
    found = compared(record(SAME, run_context=context(cpu_set=TWO)), *runs)
    assert found.verdict == "within_noise"
    assert len(found.baseline_runs) == 1


def test_what_is_always_incomparable_cannot_be_accepted() -> None:
    everything = Policy(accept=frozenset({"throttled", "hot-start", "power-changed", "clock-capped"}))
    assert compared(record(SLOW, iterations=20), record(SAME), policy=everything).verdict == "incomparable"


def test_other_inner_loops_make_their_metric_incomparable() -> None:
    other = replace(SLOW, name="latency.decode", inner_loops=10)
    found = compared(record(SAME, other), record(SAME, replace(other, inner_loops=100)))
    assert [change.verdict for change in found.changes] == ["within_noise", "incomparable"]
    assert "100 inner loops in the baseline, 10 now" in found.reason
    assert found.verdict == "incomparable"


def test_a_metric_that_was_measured_once_without_inner_loops_has_one() -> None:
    single, unset = (record(replace(SAME, inner_loops=loops)) for loops in (1, None))
    assert compared(single, unset).verdict == compared(unset, single).verdict == "within_noise"


@pytest.mark.parametrize("turned", [False, True])
def test_a_metric_that_was_measured_in_another_way_is_incomparable(turned) -> None:
    rounds, once = record(SAME), record(scalars([1.0] * 3, name="latency", unit="ms"))
    found = only(compared(rounds, once) if turned else compared(once, rounds))
    assert found.reason == f"it was measured as {'memory' if turned else 'rounds'} in the baseline"


def test_a_metric_that_is_refused_leaves_those_after_it_to_be_judged() -> None:
    first = replace(SAME, name="a", inner_loops=10)
    shown = scalars([1.0] * 3, name=next(iter(INFORMATIONAL)))
    found = compared(
        record(shown, first, scalars([1.0] * 3, name="new"), SAME), record(replace(first, inner_loops=1), SAME)
    )
    assert [change.verdict for change in found.changes] == ["incomparable", "new", "within_noise"]


def test_a_value_without_a_unit_is_called_a_bare_number() -> None:
    bare, unit = (record(scalars([1.0] * 3, kind="recorded", unit=unit)) for unit in ("", "s"))
    assert (
        "it was a bare number, lower is better, in the baseline, and is s, lower" in only(compared(unit, bare)).reason
    )
    assert "is a bare number, lower is better, now" in only(compared(bare, unit)).reason


def test_another_unit_or_direction_of_a_recorded_value_is_incomparable() -> None:
    now, then = scalars([1.0] * 3, kind="recorded", unit="1/s"), scalars([1.0] * 3, kind="recorded", unit="s")
    assert only(compared(record(now), record(then))).verdict == "incomparable"
    turned = scalars([1.0] * 3, kind="recorded", unit="s", better="higher")
    assert only(compared(record(turned), record(then))).verdict == "incomparable"


# -- cautions ---------------------------------------------------------------------------------------

OWN_REFUSING = ("throttled", "faked-sensors", "slept", "instrumented")


@pytest.mark.parametrize("slug", OWN_REFUSING)
@pytest.mark.parametrize("side", ["now", "then"])
def test_a_refusing_caution_of_either_side_refuses_and_can_be_accepted(slug, side) -> None:
    carried = record(SAME, cautions=(slug,), caution_notes={slug: "so it was"})
    pair_of = (carried, record(SAME)) if side == "now" else (record(SAME), carried)
    found = compared(*pair_of)
    assert found.verdict == "incomparable"
    assert slug in found.reason
    assert "so it was" in found.reason
    assert ("in the baseline" in found.reason) == (side == "then")
    assert compared(*pair_of, policy=Policy(accept=frozenset({slug}))).verdict == "within_noise"


@pytest.mark.parametrize("side", ["now", "then"])
def test_a_refusing_caution_without_a_note_has_its_usual_words(side) -> None:
    carried = record(SAME, cautions=("slept",))
    found = compared(carried, record(SAME)) if side == "now" else compared(record(SAME), carried)
    assert f"({CAUTIONS['slept'].words})" in found.reason
    assert "accept it with --devperf-accept=slept" in found.reason


def test_caps_that_round_differently_or_that_one_side_lacks_are_the_same() -> None:
    here, there = (
        context(clock_state=ClockState(max_khz={"policy0": khz, name: 1}))
        for khz, name in ((2_000_000, "a"), (1_980_000, "b"))
    )
    assert pair(here, there, device=PHONE).cautions == {}


def test_another_cap_is_shown_in_mhz() -> None:
    found = pair(*RELATIVE["clock-capped"], device=PHONE)
    assert found.cautions["clock-capped"] == "policy0 at most 1500 MHz, 2000 MHz in the baseline"


@pytest.mark.parametrize("slug", ["busy-host", "throttled-outside", "contended"])
def test_a_host_only_reports_what_the_samples_show_or_what_passes_in_seconds(slug) -> None:
    carried = record(SAME, cautions=(slug,))
    assert compared(carried, record(SAME)).verdict == "within_noise"
    assert compared(carried, record(SAME), policy=Policy(strict_context=True)).verdict == "incomparable"
    assert compared(carried, record(SAME), device=PHONE).verdict == "incomparable"


@pytest.mark.parametrize("slug", ["low-battery", "emulator", "few-rounds", "noisy", "untrustworthy", "one-start"])
def test_reported_cautions_refuse_nothing(slug) -> None:
    assert compared(record(SAME, cautions=(slug,)), record(SAME), device=PHONE).verdict == "within_noise"


RELATIVE = {
    "power-changed": (context(power_state="battery"), context(power_state="AC")),
    "hot-start": (context(temp_start_c=41.0), context(temp_start_c=30.9)),
    "clock-capped": (
        context(clock_state=ClockState(max_khz={"policy0": 1_500_000})),
        context(clock_state=ClockState(max_khz={"policy0": 2_000_000})),
    ),
    "provider-fell-back": (context(env={"ep": "CPUExecutionProvider"}), context(env={"ep": "NnapiExecutionProvider"})),
}


@pytest.mark.parametrize("slug", RELATIVE)
def test_a_caution_between_both_sides_refuses_on_a_phone_either_way_round(slug) -> None:
    for now, then in (RELATIVE[slug], RELATIVE[slug][::-1]):
        found = pair(now, then, device=PHONE)
        assert found.verdict == "incomparable"
        assert slug in found.cautions
        assert slug in found.reason
        accepted = pair(now, then, Policy(accept=frozenset({slug})), device=PHONE)
        assert accepted.verdict == "within_noise"
        assert slug in accepted.cautions


def test_a_host_reports_a_hot_start_and_compares() -> None:
    found = pair(*RELATIVE["hot-start"])
    assert (found.verdict, "41.0 °C" in found.cautions["hot-start"]) == ("within_noise", True)
    assert pair(*RELATIVE["hot-start"], Policy(strict_context=True)).verdict == "incomparable"


def test_ten_degrees_are_the_same_start_by_default() -> None:
    now, then = context(temp_start_c=40.0), context(temp_start_c=30.0)
    assert pair(now, then, device=PHONE).cautions == {}
    assert "hot-start" in pair(now, then, Policy(hot_start_c=5.0), device=PHONE).cautions


@pytest.mark.parametrize(
    ("slug", "fact"), [("os-changed", "os"), ("runtime-changed", "python"), ("runtime-changed", "sdk")]
)
def test_other_software_is_reported_and_compared(slug, fact) -> None:
    found = pair(context(env={fact: "2"}), context(env={fact: "1"}), device=PHONE)
    assert (found.verdict, found.cautions) == ("within_noise", {slug: f"{fact} 1 -> 2"})


@pytest.mark.parametrize("fact", ["os", "python", "sdk", "driver", "ep"])
@pytest.mark.parametrize("known", [0, 1])
def test_software_that_one_side_does_not_know_is_not_reported_as_changed(fact, known) -> None:
    sides = [context(env={fact: "1"} if place == known else {}) for place in range(2)]
    assert pair(*sides, device=PHONE).cautions == {}


def test_another_requested_provider_is_reported_beside_other_changes() -> None:
    now = context(env={"ep": "Cpu", "asked_ep": "Cpu", "sdk": "2"})
    then = context(env={"ep": "Npu", "asked_ep": "Npu", "sdk": "1"})
    found = pair(now, then, device=PHONE)
    assert (found.verdict, found.cautions) == ("within_noise", {"runtime-changed": "ep Npu -> Cpu, sdk 1 -> 2"})


def test_a_model_that_one_side_does_not_know_is_not_reported_as_changed() -> None:
    known, unknown = (WorkloadRecord(fingerprint="work", kind="model", model_sha256=sha) for sha in ("a" * 64, None))
    for now, then in ((known, unknown), (unknown, known)):
        assert compared(record(SAME, workload=now), record(SAME, workload=then)).cautions == {}


def test_another_model_file_is_reported_and_compared() -> None:
    now, then = (WorkloadRecord(fingerprint="work", kind="model", model_sha256=sha * 8) for sha in ("new1", "old1"))
    found = compared(record(SAME, workload=now), record(SAME, workload=then))
    assert found.verdict == "within_noise"
    assert found.cautions["model-changed"].startswith("sha256 old1old1")
    assert found.cautions["model-changed"].count("1") == 2 * 2


def test_a_reading_that_one_side_lacks_is_reported_by_name() -> None:
    found = pair(context(temp_start_c=30.0, power_state="AC"), context(power_state="AC"), device=PHONE)
    assert (found.verdict, found.cautions) == (
        "within_noise",
        {"unknown-context": "start temperature known on one side only"},
    )


# -- baselines of several runs ----------------------------------------------------------------------


def test_a_saved_run_with_a_refusing_caution_is_omitted_and_reported() -> None:
    found = compared(record(SAME), record(SAME, cautions=("throttled",)), record(SAME), record(SAME))
    assert (found.verdict, found.baseline_runs) == ("within_noise", ("run1", "run2"))
    assert "left out: throttled" in found.notes[0]


@pytest.mark.parametrize(("device", "served"), [(None, 2), (PHONE, 1)])
def test_a_saved_run_of_a_busy_host_serves_on_a_host_alone(device, served) -> None:
    fields = {"device": device} if device else {}
    found = compared(record(SAME), record(SAME), record(SAME, cautions=("busy-host",)), **fields)
    assert len(found.baseline_runs) == served


@pytest.mark.parametrize(("policy", "served"), [(POLICY, 1), (Policy(hot_start_c=20.0), 2)])
def test_a_saved_run_that_started_hotter_than_the_newest_is_left_out_on_a_phone(policy, served) -> None:
    cool, hot = (record(SAME, run_context=context(temp_start_c=temp_c)) for temp_c in (30.0, 45.0))
    assert len(compared(cool, cool, hot, device=PHONE, policy=policy).baseline_runs) == served


def test_a_single_saved_run_leads_whatever_it_carries() -> None:
    found = compared(record(SAME), record(SAME, cautions=("low-battery",)))
    assert (found.verdict, found.baseline_runs, found.notes) == ("within_noise", ("run0",), ())


def test_if_every_saved_run_refuses_the_newest_alone_is_named() -> None:
    found = compared(record(SAME), *[record(SAME, cautions=("throttled",))] * 2)
    assert found.baseline_runs == ("run0",)


def test_saved_runs_of_other_work_than_the_newest_are_left_out() -> None:
    other = record(SAME, workload=WorkloadRecord(fingerprint="older", kind="call"))
    found = compared(record(SAME), record(SAME), other, record(SAME, iterations=20))
    assert (found.verdict, found.baseline_runs, len(found.notes)) == ("within_noise", ("run0",), 2)


def test_if_every_saved_run_carries_a_refusing_caution_nothing_is_compared() -> None:
    found = compared(record(SAME), *[record(SAME, cautions=("throttled",))] * 3)
    assert (found.verdict, "throttled in the baseline" in found.reason) == ("incomparable", True)


def test_a_baseline_of_several_commits_is_reported() -> None:
    saved = baseline(record(SAME), record(SAME))
    runs = tuple(
        run.__class__(
            run_id=run.run_id,
            taken_at=run.taken_at,
            commit=Commit(id=f"commit{place}"),
            settings={},
            record=run.record,
        )
        for place, run in enumerate(saved.runs)
    )
    mixed = Baseline(case_id="test_it", device=saved.device, same_device=True, runs=runs)
    assert compare(record(SAME), mixed, POLICY).notes == ("the baseline has runs of 2 commits",)


# -- the case as a whole ----------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [None, baseline()])
def test_a_case_without_a_baseline_is_new(nothing) -> None:
    found = compare(record(SAME), nothing, POLICY)
    assert (found.verdict, found.reason) == ("new", "the baseline has no passed run of this case")


@pytest.mark.parametrize("outcome", ["failed", "error", "skipped"])
def test_a_test_that_did_not_pass_is_not_compared(outcome) -> None:
    found = compare(record(SLOW, outcome=outcome, reason="because"), baseline(record(SAME)), POLICY)
    assert (found.verdict, found.reason, found.changes) == ("skipped", "because", ())


@pytest.mark.parametrize(
    ("outcome", "words"), [("failed", "failed"), ("error", "ended in an error"), ("skipped", "was skipped")]
)
def test_a_test_that_failed_without_a_reason_is_reported_by_its_outcome(outcome, words) -> None:
    found = compare(record(SLOW, outcome=outcome), baseline(record(SAME)), POLICY)
    assert found.reason == f"the test {words}"


def test_the_case_has_the_verdict_of_its_worst_metric() -> None:
    decode, before = replace(SLOW, name="latency.decode"), replace(SAME, name="latency.decode")
    assert compared(record(SAME, decode), record(SAME, before)).verdict == "regressed"
    assert worst(WORST_FIRST) == "regressed"


@pytest.mark.parametrize("beside", ["within_noise", "improved", "suspect"])
def test_what_could_not_be_judged_counts_only_alone(beside) -> None:
    assert worst(["inconclusive", beside]) == beside
    assert worst(["new", beside]) == beside
    assert worst(["inconclusive", "new"]) == "inconclusive"


def test_a_metric_that_the_baseline_lacks_is_new_and_the_rest_is_compared() -> None:
    found = compared(record(SAME, scalars([1.0] * 3)), record(SAME))
    assert found.changes[1] == Change(
        metric="peak_memory", verdict="new", unit="MiB", candidate=1.0, reason="the baseline does not have this metric"
    )
    assert (found.verdict, found.reason) == ("within_noise", None)


def test_a_metric_that_is_gone_is_incomparable_so_that_its_gate_does_not_look_open() -> None:
    boxes = scalars([2.0] * 3, kind="recorded", better="higher")
    found = compared(record(SAME), record(SAME, boxes))
    reason = "the baseline has this metric, this run does not"
    assert (found.verdict, found.reason) == ("incomparable", f"boxes: {reason}")
    assert found.changes[-1] == Change(
        metric="boxes", verdict="incomparable", unit="boxes", better="higher", baseline=2.0, reason=reason
    )


@pytest.mark.parametrize("name", sorted(INFORMATIONAL))
def test_informational_metrics_are_neither_compared_nor_missed(name) -> None:
    shown: Measurement = scalars([1.0] * 3, name=name)
    assert len(compared(record(SAME, shown), record(SAME, scalars([9.0] * 3, name=name))).changes) == 1
    assert compared(record(SAME), record(SAME, shown)).verdict == "within_noise"


def test_one_metric_that_awaits_makes_its_case_await() -> None:
    first_look = replace(SLOW, confirmation=None)
    found = compared(record(SAME, replace(first_look, name="latency.b")), record(SAME, replace(SAME, name="latency.b")))
    assert (found.verdict, found.awaiting) == ("suspect", True)


def test_a_case_in_which_nothing_was_measured_is_inconclusive() -> None:
    found = compared(record(), record())
    assert (found.verdict, found.reason) == ("inconclusive", "no measured metric is compared")


@pytest.mark.parametrize(("then", "shown"), [("aaaaaaaa", True), ("bbbbbbbb", False), (None, False)])
def test_another_unit_of_one_model_is_reported_and_compared(then: str | None, shown: bool) -> None:
    saved = baseline(record(SAME))
    runs = tuple(dataclasses.replace(run, unit=then) for run in saved.runs)

    comparison = compare(record(SAME), dataclasses.replace(saved, runs=runs, unit="bbbbbbbb"), POLICY)

    assert comparison.verdict == "within_noise"
    assert comparison.cautions.get("other-unit") == ("unit aaaaaa in the baseline, bbbbbb now" if shown else None)

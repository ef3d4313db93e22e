from __future__ import annotations

from msgspec.structs import replace
from rule_samples import DEVICE, PHONE, record, timed

from pytest_devperf.compare.history import gather, index
from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.stopping.bound import early_bound_ns, pace_of
from pytest_devperf.record.record import Commit, DeviceRecord, Record, Run

OTHER_PHONE = DeviceRecord(fingerprint="9f3c00000002", kind="android", model="Other phone")
SAME = timed([1_000_000] * 3)


def run(day: int, *cases: Record, generation: int | None = 1, device=DEVICE, label: str | None = "main") -> Run:
    return Run(
        id=f"run{day}",
        label=label,
        generation=f"2026-11-{generation:02}T00:00:00Z" if generation is not None else None,
        taken_at=f"2026-11-{day:02}T00:00:00Z",
        devperf_version="0.1.0",
        device=device,
        cases=cases or (record(SAME),),
    )


def ids(runs, case_id: str = "test_it") -> list[str]:
    found = gather(runs, case_id, DEVICE.fingerprint)
    assert found is not None
    return [each.run_id for each in found.runs]


def test_only_the_newest_generation_counts_whatever_order_the_runs_come_in() -> None:
    assert ids([run(1), run(5, generation=5), run(2), run(6, generation=5)]) == ["run6", "run5"]


def test_the_newest_five_runs_of_a_generation_count() -> None:
    assert ids([run(day) for day in range(1, 9)]) == ["run8", "run7", "run6", "run5", "run4"]


def test_a_run_that_does_not_hold_the_case_as_passed_gives_way_to_an_older_one() -> None:
    failed = record(SAME, outcome="failed")
    runs = [run(9, record(SAME, id="other")), run(8, failed), *[run(day) for day in range(1, 7)]]
    assert ids(runs) == ["run6", "run5", "run4", "run3", "run2"]


def test_an_older_generation_never_stands_in_for_the_newest() -> None:
    assert gather([run(1), run(5, record(SAME, id="other"), generation=5)], "test_it", DEVICE.fingerprint) is None


def test_the_device_that_is_measured_now_comes_first() -> None:
    found = gather([run(1), run(9, device=PHONE, generation=9)], "test_it", DEVICE.fingerprint)
    assert found is not None
    assert (found.same_device, found.device, found.label) == (True, DEVICE, "main")


def test_the_run_of_another_device_is_found_and_marked() -> None:
    found = gather([run(1, device=PHONE)], "test_it", DEVICE.fingerprint)
    assert found is not None
    assert (found.same_device, found.device) == (False, PHONE)


def test_runs_of_two_other_devices_are_never_one_baseline() -> None:
    found = gather([run(1, device=PHONE), run(2, device=OTHER_PHONE), run(3, device=PHONE)], "test_it", "now")
    assert found is not None
    assert ([each.run_id for each in found.runs], found.device) == (["run3", "run1"], PHONE)


def test_runs_of_a_file_without_generation_are_one_each() -> None:
    assert ids([run(1, generation=None, label=None), run(2, generation=None, label=None)]) == ["run2"]


def test_a_generation_is_as_new_as_its_name_and_not_as_its_newest_run() -> None:
    assert ids([run(9, generation=1), run(6, generation=5)]) == ["run6"]


def test_a_baseline_shows_time_and_commit_of_each_run() -> None:
    saved = replace(run(3), commit=Commit(id="abc"), settings={"rounds": 12})
    found = gather([saved], "test_it", DEVICE.fingerprint)
    assert found is not None
    assert found.case_id == "test_it"
    assert (found.runs[0].taken_at, found.runs[0].commit, found.runs[0].settings) == (
        saved.taken_at,
        saved.commit,
        saved.settings,
    )


def test_gathering_one_case_looks_at_no_other() -> None:
    assert set(index([run(1, record(SAME), record(SAME, id="b"))], DEVICE.fingerprint, only="b")) == {"b"}


def test_no_runs_hold_nothing() -> None:
    assert index([], DEVICE.fingerprint) == {}


def test_an_index_holds_every_case_as_gathering_it_alone_would() -> None:
    runs = [run(1, record(SAME), record(SAME, id="b")), run(2, record(SAME, id="b"))]
    found = index(runs, DEVICE.fingerprint)
    assert set(found) == {"test_it", "b"}
    assert all(found[case_id] == gather(runs, case_id, DEVICE.fingerprint) for case_id in found)


# -- what a baseline shows before anything is measured ----------------------------------------------


def only_case(*cases: Record, device=DEVICE, fingerprint: str = DEVICE.fingerprint):
    found = gather([run(9 - place, case, device=device) for place, case in enumerate(cases)], "test_it", fingerprint)
    assert found is not None
    return found


def test_the_early_bound_is_what_the_baseline_alone_allows() -> None:
    policy = Policy()
    assert early_bound_ns(only_case(record(SAME)), "latency", policy, 6) == 1_020_000
    wide = record(timed([1_000_000] * 3, width_ns=50_000.0))
    assert round(early_bound_ns(only_case(wide), "latency", policy, 6) or 0) == 1_050_000
    coarse = record(timed([1_000_000] * 3, tick_ns=40_000.0))
    assert early_bound_ns(only_case(coarse), "latency", policy, 6) == 1_080_000


def test_a_confirmation_has_to_come_down_by_half_as_much() -> None:
    assert early_bound_ns(only_case(record(SAME)), "latency", Policy(), 6, confirming=True) == 1_010_000


def test_the_bound_of_a_baseline_with_more_rounds_is_that_of_its_first() -> None:
    saved = only_case(record(timed([1_000_000] * 3 + [900_000])))
    assert early_bound_ns(saved, "latency", Policy(), 6) == 1_020_000
    assert early_bound_ns(saved, "latency", Policy(), 8) == 918_000


def test_there_is_no_bound_if_nothing_is_certain() -> None:
    policy = Policy()
    assert early_bound_ns(only_case(record(SAME)), "load", policy, 6) is None
    assert early_bound_ns(only_case(record(timed([1_000_000]))), "latency", policy, 6) is None
    assert early_bound_ns(only_case(record(SAME), device=PHONE), "latency", policy, 6) is None


def test_the_anchor_leaves_out_of_the_bound_what_a_slow_day_of_the_machine_explains() -> None:
    slow_day = [record(timed([ns] * 3, anchors_ns=ns / 200)) for ns in (1_000_000.0, 1_100_000.0)]
    saved = only_case(*slow_day)
    assert early_bound_ns(saved, "latency", Policy(), 6) == 1_020_000
    assert early_bound_ns(saved, "latency", Policy(anchor=False), 6) == 1_100_000
    assert early_bound_ns(saved, "latency", Policy(rule="iqr"), 6) == 1_100_000


def test_a_run_whose_caution_is_accepted_serves_for_bound_and_pace_too() -> None:
    newer = record(timed([900_000] * 3), iterations=20, cautions=("slept",))
    saved = only_case(newer, record(SAME))
    accepting = Policy(accept=frozenset({"slept"}))
    assert early_bound_ns(saved, "latency", Policy(), 6) == 1_020_000
    assert early_bound_ns(saved, "latency", accepting, 6) == 918_000
    assert pace_of(saved, "latency") == pace_of(saved, "latency", Policy()) == (30, 1)
    assert pace_of(saved, "latency", accepting) == (20, 1)


def test_the_pace_is_read_from_the_samples_if_the_record_lacks_it() -> None:
    assert pace_of(only_case(record(replace(SAME, inner_loops=None), iterations=None)), "latency") == (30, 1)


def test_the_pace_is_that_of_the_newest_run() -> None:
    newer = record(timed([1_000_000] * 3, inner_loops=100), iterations=30)
    assert pace_of(only_case(newer, record(SAME, iterations=20)), "latency") == (30, 100)
    assert pace_of(only_case(newer), "load") is None

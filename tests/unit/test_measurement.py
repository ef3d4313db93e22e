from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_samples import round_of, scalars, timed

from pytest_devperf import stats
from pytest_devperf.case.plan import Plan
from pytest_devperf.measure.round import Round, StartResult
from pytest_devperf.metric import Metric, memory_metric, start_metric, time_metric
from pytest_devperf.record.derived import derive, stable_of
from pytest_devperf.record.measurement import scalar_measurement, series, time_measurement, with_confirmation

LATENCY = time_metric("latency")

ROWS = st.lists(st.lists(st.integers(min_value=1, max_value=10**9), min_size=5, max_size=10), min_size=3, max_size=8)


def start_result(process: int, *centres_ns: float, **fields) -> StartResult:
    rounds = tuple(
        Round(process=process, samples_ns=round_of(centre, 200.0), cpu_ns=7, anchor_ns=5000.0, temp_c=31.5, clock_khz=9)
        for centre in centres_ns
    )
    given_fields = {"iterations": 30, "inner_loops": 1, "total_rounds": 6, "tick_ns": 40.0, "stop": "done"}
    return StartResult(rounds=rounds, **{**given_fields, **fields})


def test_the_rounds_of_all_starts_stand_in_order_with_their_start() -> None:
    found = time_measurement(LATENCY, [start_result(0, 1e6, 1.1e6), start_result(1, 1.2e6), start_result(2)], main=True)
    assert found.process == (0, 0, 1)
    assert found.cpu_ns == (7, 7, 7)
    assert found.anchor_ns == (5000.0,) * 3
    assert (found.temp_c, found.clock_khz) == ((31.5,) * 3, (9,) * 3)
    assert (found.planned_rounds, found.inner_loops, found.main, found.stop) == (6, 1, True, "done")


def test_the_headline_is_the_lowest_round_median_and_the_iqr_is_that_within_rounds() -> None:
    found = time_measurement(LATENCY, [start_result(0, 1e6, 1.1e6), start_result(1, 1.2e6)])
    assert found.robust == pytest.approx(1.0)
    assert found.iqr == pytest.approx(0.0002)
    assert found.iqr_within == found.iqr
    assert found.iqr_pooled is not None
    assert found.iqr_pooled > 0.05
    assert found.median == pytest.approx(1.1)


def test_the_tick_is_that_of_one_call_or_the_smallest_step_between_samples() -> None:
    looped = time_measurement(LATENCY, [start_result(0, 1e6, inner_loops=10)])
    steps_ns = sorted(round_of(1e6, 200.0))
    assert looped.tick_ns == pytest.approx(max(4.0, steps_ns[1] - steps_ns[0]))
    assert time_measurement(LATENCY, [start_result(0, 1e6, tick_ns=900.0)]).tick_ns == 900.0


def test_the_reason_for_the_end_is_taken_from_any_start() -> None:
    early = time_measurement(LATENCY, [start_result(0, 1e6), start_result(1, stop="early-pass")])
    assert early.stop == "early-pass"
    slow = time_measurement(LATENCY, [start_result(0, stop="too-slow", needs_s=96.0)])
    assert (slow.stop, slow.needs_s, slow.robust, slow.samples_ns, slow.summary) == ("too-slow", 96.0, None, (), None)


def test_what_is_not_known_of_any_round_is_left_out() -> None:
    bare = replace(start_result(0, 1e6), rounds=(Round(process=0, samples_ns=(1.0, 2.0)),))
    found = time_measurement(LATENCY, [bare])
    assert (found.cpu_ns, found.anchor_ns, found.temp_c, found.clock_khz) == ((), (), (), ())


def test_a_further_series_of_the_same_runs_is_a_separate_metric() -> None:
    taken = Round(process=1, samples_ns=(3.0, 4.0), also={"first_item": (1.0, 2.0)})
    found = time_measurement(
        time_metric("first_item"), series([replace(start_result(0), rounds=(taken,))], "first_item")
    )
    assert found.samples_ns == ((1.0, 2.0),)
    assert found.process == (1,)


def test_loads_are_times_and_their_headline_is_the_median() -> None:
    found = scalar_measurement(start_metric("load"), [[3e6], [1e6], [2e6]], [1, 2, 3])
    assert found.samples_ns == ((3e6,), (1e6,), (2e6,))
    assert (found.robust, found.iqr, found.samples) == (2.0, 1.0, None)


def test_memory_keeps_its_unit_and_what_it_stands_above() -> None:
    found = scalar_measurement(memory_metric("peak_memory"), [[103.2], [103.2], [103.4]], [1, 2, 3], baseline=61.0)
    assert found.samples == ((103.2,), (103.2,), (103.4,))
    assert (found.robust, found.baseline, found.samples_ns) == (103.2, 61.0, None)
    assert found.iqr == pytest.approx(0.1)


def test_several_recorded_values_of_a_start_give_their_median_and_range() -> None:
    metric = Metric(name="boxes", unit="boxes", kind="recorded")
    found = scalar_measurement(metric, [[10.0, 12.0, 20.0], [12.0, 12.0, 22.0], [11.0, 12.0, 21.0]], [0, 1, 2])
    assert (found.robust, found.iqr) == (12.0, 10.0)


def test_the_second_look_lies_beside_the_first_and_changes_nothing_of_it() -> None:
    first = time_measurement(LATENCY, [start_result(0, 1e6)])
    both = with_confirmation(first, [start_result(3, 2e6), start_result(4, 3e6)])
    assert both.confirmation is not None
    assert both.confirmation.process == (3, 4)
    assert both.confirmation.anchor_ns == (5000.0, 5000.0)
    assert (both.confirmation.temp_c, both.confirmation.clock_khz) == ((31.5, 31.5), (9, 9))
    assert msgspec.structs.replace(both, confirmation=None) == first
    assert derive(both).robust == first.robust


def test_the_second_look_at_few_values_is_kept_in_their_unit() -> None:
    memory = with_confirmation(scalars([1.0, 2.0, 3.0]), [[4.0], [5.0]], [3, 4])
    assert memory.confirmation is not None
    assert (memory.confirmation.samples, memory.confirmation.samples_ns) == (((4.0,), (5.0,)), None)
    load = with_confirmation(scalars([1.0, 2.0, 3.0], kind="start"), [[4.0]], [3])
    assert load.confirmation is not None
    assert load.confirmation.samples_ns == ((4.0,),)


@given(ROWS)
def test_every_summary_can_be_derived_again_from_the_samples(rows) -> None:
    found = derive(
        scalars([1.0]).__class__(
            name="latency", unit="ms", process=tuple(range(len(rows))), samples_ns=tuple(map(tuple, rows))
        )
    )
    stripped = msgspec.structs.replace(
        found, robust=None, median=None, iqr=None, iqr_within=None, iqr_pooled=None, summary=None
    )
    assert derive(stripped) == found
    assert found.robust == pytest.approx(min(stats.median(row) for row in rows) / 1e6)
    assert found.summary is not None
    assert found.summary.min <= found.summary.p50 <= found.summary.p90 <= found.summary.p99 <= found.summary.max


@given(ROWS, st.integers(min_value=2, max_value=50))
def test_scaling_all_samples_scales_the_summaries(rows, factor) -> None:
    def summed(scale: int):
        scaled = tuple(tuple(value * scale for value in row) for row in rows)
        return derive(
            timed([1e6]).__class__(name="latency", unit="ms", process=tuple(range(len(rows))), samples_ns=scaled)
        )

    one, many = summed(1), summed(factor)
    for name in ("robust", "median", "iqr", "iqr_pooled", "tick_ns"):
        small, large = getattr(one, name), getattr(many, name)
        assert (small is None) == (large is None)
        if small is not None:
            assert large == pytest.approx(small * factor, rel=1e-9, abs=1e-9)


def test_stability_speaks_of_the_round_medians() -> None:
    found = stable_of(timed([1e6, 1.01e6, 1.02e6]), Plan(), rest_s=0.5)
    assert found is not None
    assert found.round_medians_ms == pytest.approx((1.0, 1.0, 1.01, 1.01, 1.02, 1.02))
    assert (found.robust_latency_ms, found.rounds_run, found.iters_per_round, found.cooldown_ms) == (1.0, 6, 30, 500)
    assert (found.quality, found.converged) == ("STABLE", True)


def test_no_rounds_have_no_stability() -> None:
    assert stable_of(time_measurement(LATENCY, [start_result(0)]), Plan()) is None
    assert stable_of(scalars([1.0, 2.0, 3.0]), Plan()) is None

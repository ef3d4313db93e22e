"""What unchanged code comes to: every repetition is compared with its neighbours, and with no more of them."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace
from rule_samples import ANCHOR, record, scalars, timed

from pytest_devperf.compare import noise as module
from pytest_devperf.compare.noise import NEIGHBOURS, Noise, noise, recommended
from pytest_devperf.compare.policy import Policy
from pytest_devperf.record.derived import derive
from pytest_devperf.record.record import Measurement, Record, WorkloadRecord
from pytest_devperf.sensor.run_context import RunContext

POLICY = Policy()


def a_record(seed: int, *, name: str = "latency", slower: float = 1.0) -> Record:
    draw = random.Random(seed)
    samples = tuple(tuple(1e6 * slower * (1 + draw.random() / 100) for _ in range(5)) for _ in range(6))
    metric = Measurement(name=name, unit="ms", process=(0, 0, 1, 1, 2, 2), inner_loops=1, samples_ns=samples)
    workload = WorkloadRecord(fingerprint="w", kind="call")
    return Record(id="c", workload=workload, metrics=(derive(metric),), processes=3)


@pytest.mark.parametrize(("repetitions", "comparisons"), [(2, 2), (3, 6), (5, 20), (6, 28), (10, 60), (40, 300)])
def test_a_few_repetitions_are_all_compared_and_many_with_their_neighbours_alone(
    repetitions: int, comparisons: int
) -> None:
    (found,) = noise([a_record(seed) for seed in range(repetitions)], Policy())

    assert found.repetitions == repetitions
    assert found.comparisons == comparisons


def test_twice_the_repetitions_take_twice_the_judgements(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    judge = module.judge
    monkeypatch.setattr(module, "judge", lambda *given, **named: calls.append(1) or judge(*given, **named))

    def judged(repetitions: int) -> int:
        calls.clear()
        noise([a_record(seed) for seed in range(repetitions)], Policy())
        return len(calls)

    assert judged(80) - judged(40) == judged(120) - judged(80) == 40 * 2 * NEIGHBOURS


def test_the_widest_of_all_repetitions_decides_the_tolerance() -> None:
    """The two that are furthest apart are no neighbours."""
    records = [a_record(seed, slower=1.0 + 0.02 * seed) for seed in range(10)]

    (found,) = noise(records, Policy())

    centres = [record.metrics[0].robust or 0.0 for record in records]
    assert found.tolerance_pct == pytest.approx(100 * (max(centres) - min(centres)) / min(centres), abs=0.5)


@pytest.mark.parametrize(("before", "now", "again"), [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1)])
def test_the_repetition_next_in_time_confirms(before: int, now: int, again: int) -> None:
    assert module._next_in_time(3, before, now) == again
    assert module._next_in_time(2, 0, 1) is None


def test_negative_values_have_a_noise_too() -> None:
    records = [
        replace(
            a_record(0),
            metrics=(derive(Measurement(name="x", unit="", kind="recorded", process=(0,), samples=((-value,),))),),
        )
        for value in (1.0, 1.1, 1.2)
    ]

    (found,) = noise(records, Policy())

    assert found.spread_pct == pytest.approx(100 * 0.2 / 1.1)


def repeated(*floors):
    return [record(timed([floor, 1.001 * floor, 1.002 * floor])) for floor in floors]


def test_quiet_repetitions_recommend_the_tolerance_there_is() -> None:
    (found,) = noise(repeated(1e6, 1.001e6, 1.002e6), POLICY)
    assert (found.repetitions, found.comparisons, found.suspects, found.false_alarms) == (3, 6, 0, 0)
    assert found.tolerance_pct == 2.0
    assert found.spread_pct == pytest.approx(0.2, abs=0.01)
    assert found.detectable_pct == pytest.approx(2.0, abs=0.1)


def test_everything_that_repetitions_show_is_reported() -> None:
    boxes = [record(scalars([value] * 3, kind="recorded")) for value in (100.0, 104.0, 102.0)]
    assert noise(boxes, Policy(tolerance={"boxes": 0.03})) == (
        Noise(
            metric="boxes",
            unit="boxes",
            repetitions=3,
            centre=102.0,
            starts_pct=pytest.approx(0.0),
            runs_pct=pytest.approx(100 * 2 / 102),
            spread_pct=pytest.approx(100 * 4 / 102),
            comparisons=6,
            suspects=1,
            false_alarms=1,
            detectable_pct=pytest.approx(3.0),
            tolerance_pct=4.0,
        ),
    )


def test_a_tolerance_is_recommended_in_whole_steps_and_only_if_one_is_needed() -> None:
    (steady,) = noise(repeated(1e6, 1.019e6), POLICY)
    assert steady.tolerance_pct == 2.0
    (two,) = noise([record(timed([1e6], per_start=12)) for _ in range(2)], POLICY)
    assert two.starts_pct is None


def test_two_starts_show_how_starts_differ() -> None:
    (found,) = noise([record(timed([1e6, 1.02e6], per_start=6)) for _ in range(2)], POLICY)
    assert found.starts_pct == pytest.approx(100 * 0.02 / 2**0.5 / 1.01)


def test_the_nearest_repetition_confirms_and_of_two_as_near_the_later() -> None:
    # The second is confirmed by the third; the third by the fourth, unless that is what it is compared with.
    (found,) = noise(repeated(1e6, 1.05e6, 1.05e6, 1e6, 1e6), POLICY)
    assert (found.suspects, found.false_alarms) == (6, 4)


def test_without_confirming_two_repetitions_raise_alarms() -> None:
    (found,) = noise(repeated(1e6, 1.05e6), Policy(confirm=False))
    assert (found.suspects, found.false_alarms) == (1, 1)


def test_a_level_that_lasts_is_a_false_alarm_and_recommends_a_tolerance_that_holds_it() -> None:
    (found,) = noise(repeated(1e6, 1.051e6, 1.051e6, 1.05e6), POLICY)
    assert (found.suspects, found.false_alarms, found.tolerance_pct) == (3, 3, 5.5)
    (tolerant,) = noise(repeated(1e6, 1.051e6, 1.051e6, 1.05e6), Policy(tolerance={"*": found.tolerance_pct / 100}))
    assert tolerant.suspects == 0


def test_a_level_that_does_not_come_back_is_a_suspect_alone() -> None:
    (found,) = noise(repeated(1e6, 1.05e6, 1e6), POLICY)
    assert (found.suspects, found.false_alarms) == (2, 0)
    (alone,) = noise(repeated(1e6, 1.05e6), POLICY)
    assert (alone.suspects, alone.false_alarms) == (1, 0)


def test_waits_for_a_cpu_are_taken_off_the_repetition_that_confirms_too() -> None:
    waited = timed([1.1e6] * 3)
    waited = derive(replace(waited, ran_ns=(round(30 * 1e6),) * len(waited.process)))
    (found,) = noise([*repeated(1e6, 1.05e6), record(waited)], POLICY)
    assert found.false_alarms == 0


def test_spread_within_repetitions_is_distinguished_from_spread_between_them() -> None:
    (starts,) = noise([record(timed([1e6, 1.02e6, 1.04e6])) for _ in range(3)], POLICY)
    assert starts.starts_pct == pytest.approx(1.96, abs=0.05)
    assert starts.runs_pct == 0
    (runs,) = noise([record(timed([floor] * 3)) for floor in (1e6, 1.02e6, 1.04e6)], POLICY)
    assert runs.starts_pct == 0
    assert runs.runs_pct == pytest.approx(1.96, abs=0.05)


def test_the_recommended_tolerance_of_a_metric_suits_every_case() -> None:
    quiet, loud = noise(repeated(1e6, 1.001e6), POLICY), noise(repeated(1e6, 1.069e6), POLICY)
    assert recommended({"a": quiet, "b": loud, "c": quiet}) == {"latency": 7.0}


def test_the_anchor_is_used_if_it_is_the_same_throughout() -> None:
    levels = ((1e6, 5000), (1.05e6, 5250), (1.05e6, 5250))
    anchored = [
        record(timed([floor] * 3, anchors_ns=at), run_context=RunContext(anchor=ANCHOR)) for floor, at in levels
    ]
    assert noise(anchored, POLICY)[0].false_alarms == 0
    assert noise(anchored, Policy(anchor=False))[0].false_alarms == 2


def test_every_metric_that_was_measured_twice_is_summed_up() -> None:
    both = record(timed([1e6] * 3), scalars([10.0] * 3))
    assert [each.metric for each in noise([both, both, record(timed([1e6] * 3), outcome="failed")], POLICY)] == [
        "latency",
        "peak_memory",
    ]
    assert noise([both], POLICY) == ()

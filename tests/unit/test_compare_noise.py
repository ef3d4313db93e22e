"""What unchanged code comes to: every repetition is compared with its neighbours, and with no more of them."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from pytest_devperf.compare import noise as module
from pytest_devperf.compare.noise import NEIGHBOURS, noise
from pytest_devperf.compare.policy import Policy
from pytest_devperf.record.measurement import derive
from pytest_devperf.record.record import Measurement, Record, WorkloadRecord


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

"""Baselines of sessions that only count instructions: those that were counted alike, of whatever device."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from counted import COUNTING as COUNTED

from pytest_devperf.errors import UsageError
from pytest_devperf.metric import count_metric
from pytest_devperf.record.measurement import count_measurement
from pytest_devperf.record.record import Counting, DeviceRecord, Record, Run, WorkloadRecord
from pytest_devperf.session.kept.baselines import Baselines
from pytest_devperf.session.kept.storage import Storage
from pytest_devperf.session.options.settings import Settings
from pytest_devperf.session.readiness import refuse_other_counting
from pytest_devperf.store.store import LabelSummary
from pytest_devperf.targets.device import Device

HERE = Device(kind="host", model="here", cores=2, memory_gib=8)
COUNTING = msgspec.structs.replace(COUNTED, canary={"a": 1})
OTHER = msgspec.structs.replace(COUNTING, canary={"a": 2})


def run(device: str, day: int, instructions: float | None, counting: Counting | None = COUNTING) -> Run:
    metrics = ()
    if instructions is not None:
        metrics = (count_measurement(count_metric("latency"), [[instructions]], [1], loops=1),)
    record = Record(
        id="a::b", workload=WorkloadRecord(fingerprint="f", kind="call"), metrics=metrics, counting=counting
    )
    return Run(
        taken_at=f"2026-01-{day:02}T00:00:00Z",
        devperf_version="0",
        label="base",
        device=DeviceRecord(fingerprint=device, kind="host", model=device),
        cases=(record,),
    )


@dataclass
class FakeStore:
    held: list[Run] = field(default_factory=list)

    def label_summaries(self) -> list[LabelSummary]:
        return [LabelSummary(device=each.device, label="base", runs=1, newest=each.taken_at) for each in self.held]

    def runs(self, fingerprint: str, label: str, *, newest: bool = False) -> list[Run]:
        return [each for each in self.held if each.device.fingerprint == fingerprint]


def baselines(*runs: Run, counting: Counting | None = COUNTING, **settings: Any) -> Baselines:
    store = FakeStore(list(runs))
    storage = Storage(Path(), Path(), "fake", "0", lambda _: store)  # type: ignore[arg-type, return-value] # all that is asked of it
    asked = Settings(compare="base", plan_cli={"count": "only"}, **settings)
    found = Baselines(asked, storage, lambda: [HERE], lambda: counting)
    found.read()
    return found


def value(found: Baselines) -> float | None:
    baseline = found.of("a::b", HERE)
    assert baseline is not None
    assert baseline.same_device
    return baseline.runs[0].record.metrics[0].robust


def test_the_newest_run_that_was_counted_alike_is_the_baseline_whatever_device_it_is_from() -> None:
    own = run(HERE.fingerprint, 1, 100.0)
    assert value(baselines(own, run("laptop", 2, 200.0))) == 200.0
    assert value(baselines(own, run("laptop", 2, 200.0, OTHER))) == 100.0


def test_a_baseline_that_was_counted_otherwise_is_refused_before_anything_runs() -> None:
    found = baselines(run("laptop", 2, 200.0, OTHER))
    settings = Settings(compare="base", plan_cli={"count": "only"})
    with pytest.raises(
        UsageError, match="--devperf-compare=base: the canary 'a', fixed work, took 2 instructions in the"
    ):
        refuse_other_counting(settings, found, COUNTING)
    refuse_other_counting(settings, baselines(run("laptop", 2, 200.0)), COUNTING)


def test_a_baseline_without_instructions_is_refused_with_what_saves_them() -> None:
    found = baselines(run(HERE.fingerprint, 1, None, None))
    settings = Settings(compare="base", plan_cli={"count": "only"})
    with pytest.raises(UsageError, match="has no instructions to compare with: save it with --devperf-count"):
        refuse_other_counting(settings, found, COUNTING)
    refuse_other_counting(Settings(compare="base"), found, COUNTING)

"""Runs of a synthetic device, with known times."""

from __future__ import annotations

import random

import pytest

from pytest_devperf.case.plan import Plan
from pytest_devperf.metric import time_metric
from pytest_devperf.record.codec import settings_of
from pytest_devperf.record.derived import derive, stable_of
from pytest_devperf.record.record import DeviceRecord, Measurement, Record, Run, WorkloadRecord
from pytest_devperf.store.folder import FolderStore

HOST = DeviceRecord(fingerprint="0123456789ab", kind="host", soc="Example CPU", cores=4)
OTHER = DeviceRecord(fingerprint="ba9876543210", kind="host", soc="Another CPU", cores=4)


def measured(case_id: str, ms: float, seed: int, **fields) -> Record:
    """A case of the given speed, with half a percent of noise in 12 rounds over 3 starts."""
    chance = random.Random(f"{case_id}{seed}")
    process = tuple(r // 4 for r in range(12))
    rows = tuple(tuple(round(ms * 1e6 * chance.uniform(1, 1.005)) for _ in range(30)) for _ in process)
    metric = time_metric("latency")
    held = derive(
        Measurement(
            name=metric.name,
            unit="ms",
            main=True,
            process=process,
            inner_loops=1,
            samples_ns=rows,
            planned_rounds=12,
            stop="done",
        )
    )
    given = {
        "id": case_id,
        "workload": WorkloadRecord(fingerprint="w", kind="call"),
        "metrics": (held,),
        "iterations": 30,
        "processes": 3,
        "stable": stable_of(held, Plan()),
    }
    return Record(**{**given, **fields})


@pytest.fixture
def make_run():
    def make(label="main", day=1, device=HOST, *, cases=(), **speeds_ms) -> Run:
        made = tuple(measured(f"test_a.py::test_{name}", ms, day) for name, ms in speeds_ms.items())
        taken_at = f"2026-11-{day:02}T08:00:00Z"
        return Run(
            id=f"{label}{day:04}",
            label=label,
            taken_at=taken_at,
            generation=taken_at,
            devperf_version="0.1.0",
            device=device,
            settings=settings_of(Plan(seed=day)),
            cases=(*made, *cases),
        )

    return make


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return FolderStore(tmp_path / ".devperf")

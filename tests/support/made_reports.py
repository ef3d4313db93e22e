"""Synthetic reports of any size with known values."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from msgspec.structs import replace

from pytest_devperf.case.plan import Plan
from pytest_devperf.compare.compare import compare
from pytest_devperf.compare.history import Baseline, index
from pytest_devperf.compare.policy import Policy
from pytest_devperf.explain.cause import MeasuredChange, explain
from pytest_devperf.explain.profile import Edge, Profile, Row
from pytest_devperf.record.derived import derive, stable_of
from pytest_devperf.record.record import Commit, DeviceRecord, Measurement, Record, Run, WorkloadRecord
from pytest_devperf.report.report import Report
from pytest_devperf.sensor.run_context import ClockState, RunContext

PHONE = DeviceRecord(
    fingerprint="0123456789ab",
    kind="android",
    manufacturer="Example",
    model="Phone 1",
    soc="Example SoC",
    cores=8,
    memory_gib=8,
    abi="arm64-v8a",
)

ROUNDS, STARTS, ITERATIONS = 12, 3, 30

CAP_KHZ, CAPPED_KHZ, WARM_C = 2_914_000, 2_600_000, 33.0
"""Clocks that the made-up phone allows when it is cool, and from the temperature on at which it is warm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A report, its baselines, and the runs of its history."""

    report: Report
    baselines: Mapping[str, Mapping[str, Baseline]]
    histories: Mapping[str, Sequence[Run]]


def made_record(case_id: str, ms: float, seed: int, *, temp_c: float = 30.0, iterations: int = ITERATIONS) -> Record:
    """Make a case of the given speed, with half a percent of noise and a few late values, on a phone that warms up."""
    chance = random.Random(f"{case_id}{seed}")
    process = tuple(at * STARTS // ROUNDS for at in range(ROUNDS))
    levels = [chance.uniform(1, 1.005) for _ in range(STARTS)]

    def value(start: int) -> int:
        late = 0.08 * chance.random() if chance.random() > 0.95 else 0.0
        return round(ms * 1e6 * levels[start] * (chance.lognormvariate(0, 0.004) + late))

    temps = tuple(round(temp_c + 0.25 * at + chance.uniform(-0.1, 0.1), 1) for at in range(ROUNDS))
    metric = derive(
        Measurement(
            name="latency",
            unit="ms",
            main=True,
            process=process,
            inner_loops=1,
            samples_ns=tuple(tuple(value(start) for _ in range(iterations)) for start in process),
            anchor_ns=tuple(round(250_000 * chance.uniform(1, 1.01)) for _ in process),
            temp_c=temps,
            clock_khz=tuple(CAP_KHZ if each < WARM_C else CAPPED_KHZ for each in temps),
            planned_rounds=ROUNDS,
            stop="done",
        )
    )
    return Record(
        id=case_id,
        workload=WorkloadRecord(fingerprint="w", kind="model"),
        metrics=(metric,),
        iterations=iterations,
        processes=STARTS,
        stable=stable_of(metric, Plan()),
        run_context=RunContext(
            temp_start_c=temp_c,
            temp_end_c=temps[-1],
            temp_max_c=max(temps),
            throttled=False,
            clock_state=ClockState(pinned=True, max_khz={"policy0": 1_704_000, "policy8": CAP_KHZ}),
            env={"os": "Android 15", "sdk": f"runtime 1.{22 + (seed > 20)}"},
            battery_pct=81.0,
            power_state="battery",
        ),
    )


def made_run(day: int, label: str, names: Sequence[str], factor: Callable[[int], float], **fields: float) -> Run:
    """Build a run; case `n` takes `factor(n)` times its usual time."""
    taken_at = f"2026-11-{day:02}T08:00:00Z"
    return Run(
        id=f"{label}{day:02}",
        label=label,
        taken_at=taken_at,
        generation="2026-11-01T08:00:00Z" if label == "main" else taken_at,
        devperf_version="0.1.0",
        device=PHONE,
        commit=Commit(id=f"{day:02}ab34cd" * 5, dirty=False, branch="main"),
        settings={"suite": "quick", "processes": STARTS, "rounds": ROUNDS, "iterations": ITERATIONS, "seed": 7},
        cases=tuple(
            made_record(name, (0.4 + 0.13 * at % 9) * factor(at), day, **fields) for at, name in enumerate(names)
        ),
    )


def usual_names(count: int) -> tuple[str, ...]:
    """Name cases as people do."""
    return tuple(f"tests/test_models.py::test_model[{at}-{'fp16' if at % 2 else 'int8'}]" for at in range(count))


def made_profile(slow: int) -> Profile:
    """Make a profile of a shop whose `total` is called so many times, beside two functions that stay as they are."""
    others = [Row(f"shop/other.py part{at}", 1, (30_000.0,)) for at in range(8)]
    rows = (
        Row("shop/cart.py checkout", 1, (2_000.0,)),
        Row("shop/cart.py total", slow, (30_000.0 * slow,)),
        Row("shop/cart.py price", 300 * slow, (10_000.0 * slow,)),
        Row("shop/tax.py rates", 1, (120_000.0,)),
        Row("shop/tax.py _read", 2, (40_000.0,)),
        *others,
    )
    edges = (Edge(0, 1, slow), Edge(1, 2, 300 * slow), Edge(0, 3, 1), Edge(3, 4, 2))
    edges += tuple(Edge(0, 5 + at, 1) for at in range(len(others)))
    return Profile(metric="latency", runtime="CPython 3.13", iterations=40, plain_ns=2e5, rows=rows, edges=edges)


def explained(made: Made, *, nodes: bool = False) -> Made:
    """Explain the regressions of a report by profiles of both sides.

    Args:
        made: The report.
        nodes: Whether they are of models, which have no callers.
    """

    def with_profile(record: Record, profile: Profile) -> Record:
        kind = {"kind": "nodes", "edges": ()} if nodes else {}
        return replace(record, profiles=(dataclasses.replace(profile, **kind),))

    def now(record: Record) -> Record:
        comparison = record.comparison
        if comparison is None or comparison.verdict != "regressed":
            return record
        (change, *_) = comparison.changes
        old, new = made_profile(1), made_profile(4)
        measured = MeasuredChange(metric="latency", delta_ns=(change.delta or 0) * 1e6, in_turns=True)
        told = replace(comparison, explanation=explain(old, new, measured))
        return with_profile(replace(record, comparison=told), new)

    (run,) = made.report.runs
    regressed = {each.id for each in run.cases if each.comparison and each.comparison.verdict == "regressed"}
    baselines = {
        device: {
            case_id: dataclasses.replace(
                baseline,
                runs=tuple(
                    dataclasses.replace(each, record=with_profile(each.record, made_profile(1)))
                    if case_id in regressed
                    else each
                    for each in baseline.runs
                ),
            )
            for case_id, baseline in cases.items()
        }
        for device, cases in made.baselines.items()
    }
    report = dataclasses.replace(made.report, runs=(replace(run, cases=tuple(map(now, run.cases))),))
    return dataclasses.replace(made, report=report, baselines=baselines)


@lru_cache(maxsize=16)
def made_report(names: tuple[str, ...], *, runs: int = 2, iterations: int = ITERATIONS) -> Made:
    """Compare a run with earlier ones: case 1 of every 40 became 20 % slower, case 2 15 % faster, one is missing.

    Args:
        names: Ids of the cases.
        runs: Runs of the baseline; of four or more, the first two are 6 % faster than the others.
        iterations: Values of a round.
    """
    days = range(11 - runs, 11)
    before = [
        made_run(
            day,
            "main",
            names,
            lambda _, early=runs > 3 and day < 13 - runs: 1.0 if early else 1.06,
            iterations=iterations,
        )
        for day in days
    ]
    speeds = {1: 1.06 * 1.2, 2: 1.06 * 0.85}
    now = made_run(24, "now", names, lambda at: speeds.get(at % 40, 1.06), temp_c=32.0, iterations=iterations)
    baselines = index(before, PHONE.fingerprint)
    policy = Policy(confirm=False)
    cases = tuple(replace(each, comparison=compare(each, baselines.get(each.id), policy)) for each in now.cases)
    return Made(
        report=Report(
            runs=(replace(now, cases=cases, missing=("tests/test_models.py::test_gone",)),), compared_with="main"
        ),
        baselines={PHONE.fingerprint: baselines},
        histories={PHONE.fingerprint: [*before, now]},
    )

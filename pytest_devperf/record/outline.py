"""Runs without their samples: what listings and histories read.

Fields are named as in the run document, so one decoder reads an outline from a document and from a cache.
"""

from __future__ import annotations

from sys import intern

from msgspec import Struct
from msgspec.structs import replace

from pytest_devperf.metric import Better
from pytest_devperf.record.record import Commit, DeviceRecord, Outcome, Run


class RunHead(Struct, frozen=True, kw_only=True):
    """The parts of a run needed for a list of labels; its cases are skipped while reading."""

    id: str = ""
    label: str | None = None
    generation: str | None = None
    taken_at: str
    device: DeviceRecord


class WorkloadOutline(Struct, frozen=True, kw_only=True, gc=False):
    """The identity of the work."""

    fingerprint: str


class MetricOutline(Struct, frozen=True, kw_only=True, gc=False):
    """A metric by its summary."""

    name: str
    unit: str
    better: Better = "lower"
    main: bool = False
    robust: float | None = None
    iqr: float | None = None


class CaseOutline(Struct, frozen=True, kw_only=True):
    """A case by its metrics."""

    id: str
    outcome: Outcome = "passed"
    workload: WorkloadOutline
    metrics: tuple[MetricOutline, ...] = ()


class RunOutline(RunHead, frozen=True, kw_only=True):
    """A run by its cases."""

    commit: Commit | None = None
    cases: tuple[CaseOutline, ...] = ()


AnyRun = Run | RunOutline
"""A run for which samples do not matter."""


def without_cases(run: AnyRun) -> RunOutline:
    """Return a run without its cases."""
    return RunOutline(
        id=run.id,
        label=run.label,
        generation=run.generation,
        taken_at=run.taken_at,
        device=run.device,
        commit=run.commit,
    )


def with_shared_texts(run: RunOutline) -> RunOutline:
    """Return the same outline, with texts that exist once for all runs: fifty runs of a label repeat all of them."""
    return replace(
        run,
        cases=tuple(
            replace(
                case,
                id=intern(case.id),
                workload=WorkloadOutline(fingerprint=intern(case.workload.fingerprint)),
                metrics=tuple(
                    replace(metric, name=intern(metric.name), unit=intern(metric.unit)) for metric in case.metrics
                ),
            )
            for case in run.cases
        ),
    )

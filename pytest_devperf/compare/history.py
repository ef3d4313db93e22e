"""Which saved runs a case is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_devperf.record.record import Commit, DeviceRecord, Record, Run

NEWEST = 5
"""Runs of a generation that are used: with five, false alarms are at most 0.2 %, and more runs are older ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineRun:
    """One saved run's part in a baseline."""

    run_id: str
    taken_at: str
    commit: Commit | None
    settings: Mapping[str, Any]
    record: Record
    unit: str | None = None
    """Hash of the unit it was measured on; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a case is compared with: its newest passed records of one generation of a label, newest first."""

    case_id: str
    device: DeviceRecord
    same_device: bool
    """Whether it is the device that is measured now; with another there is never a delta."""
    runs: tuple[BaselineRun, ...]
    unit: str | None = None
    """Hash of the unit that is measured now; None: not known."""
    label: str | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Runs that do not serve, with the reason."""


def gather(runs: Sequence[Run], case_id: str, fingerprint: str) -> Baseline | None:
    """Find the baseline of one case.

    Args:
        runs: Of one label, or of a file; in any order.
        case_id: The case.
        fingerprint: Of the device that is measured now.

    Returns:
        None where no run of the newest generation holds the case as a passed one.
    """
    return index(runs, fingerprint, only=case_id).get(case_id)


def index(
    runs: Sequence[Run], fingerprint: str, *, unit: str | None = None, only: str | None = None
) -> Mapping[str, Baseline]:
    """Find the baselines of all cases in one pass over the runs.

    Runs of the device count; where there are none, those of the others do, and the baseline says that it is
    another device. Of the newest generation, each case has its newest `NEWEST` runs that hold it as passed.

    Args:
        runs: Of one label, or of a file; in any order.
        fingerprint: Of the device that is measured now.
        unit: Hash of the unit that is measured now.
        only: A single case.

    Returns:
        Case id -> baseline.
    """
    own = [run for run in runs if run.device.fingerprint == fingerprint]
    chosen = newest_generation(own or runs)
    found: dict[str, list[BaselineRun]] = {}
    for run in chosen:
        for record in run.cases:
            if record.outcome != "passed" or (only is not None and record.id != only):
                continue
            kept = found.setdefault(record.id, [])
            if len(kept) < NEWEST:
                kept.append(
                    BaselineRun(
                        run_id=run.id or run.taken_at,
                        taken_at=run.taken_at,
                        commit=run.commit,
                        settings=run.settings,
                        record=record,
                        unit=run.device.unit,
                    )
                )
    return {
        case_id: Baseline(
            case_id=case_id,
            device=chosen[0].device,
            same_device=bool(own),
            runs=tuple(kept),
            unit=unit,
            label=chosen[0].label,
        )
        for case_id, kept in found.items()
    }


def newest_generation(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Choose the runs of the newest generation of one device, newest first.

    A run without a generation (a file's) is one of its own. Where runs of several devices or labels are
    given, the newest run's count.
    """
    ordered = sorted(runs, key=_generation, reverse=True)
    if not ordered:
        return ()
    newest = ordered[0]
    return tuple(
        run
        for run in ordered
        if (run.label, run.generation or run.taken_at, run.device.fingerprint)
        == (newest.label, newest.generation or newest.taken_at, newest.device.fingerprint)
    )


def _generation(run: Run) -> tuple[str, str]:
    return run.generation or run.taken_at, run.taken_at

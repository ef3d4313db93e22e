"""Find the saved runs that form the baseline of a case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_devperf.record.record import Commit, DeviceRecord, Record, Run

NEWEST = 5
"""Most runs of a generation that are used: with five, false alarms are at most 0.2 %, and further runs are older."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineRun:
    """A saved run as part of a baseline."""

    run_id: str
    taken_at: str
    commit: Commit | None
    settings: Mapping[str, Any]
    record: Record
    unit: str | None = None
    """Hash of the unit that it was measured on; None: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The newest passed records of a case in one generation of a label, newest first."""

    case_id: str
    device: DeviceRecord
    same_device: bool
    """Whether it is from the device that is measured now; values of another device are never compared."""
    runs: tuple[BaselineRun, ...]
    unit: str | None = None
    """Hash of the unit that is measured now; None: not known."""
    label: str | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Runs that are not used, with the reason."""


def gather(runs: Sequence[Run], case_id: str, fingerprint: str) -> Baseline | None:
    """Find the baseline of one case.

    Args:
        runs: Runs of one label, or of a file, in any order.
        case_id: The case.
        fingerprint: Fingerprint of the device that is measured now.

    Returns:
        None if no run of the newest generation contains the case as passed.
    """
    return index(runs, fingerprint, only=case_id).get(case_id)


def index(
    runs: Sequence[Run],
    fingerprint: str,
    *,
    unit: str | None = None,
    only: str | None = None,
    any_device: bool = False,
) -> Mapping[str, Baseline]:
    """Find the baselines of all cases in one pass over the runs.

    Runs of the device are used; if there are none, those of other devices, and the baseline is marked accordingly. A
    case gets its newest `NEWEST` runs of the newest generation that contain it as passed.

    Args:
        runs: Runs of one label, or of a file, in any order.
        fingerprint: Fingerprint of the device that is measured now.
        unit: Hash of the unit that is measured now.
        only: Restrict to a single case.
        any_device: Whether the device does not matter, because no time is compared.

    Returns:
        Case id -> baseline.
    """
    own = [run for run in runs if any_device or run.device.fingerprint == fingerprint]
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
    """Return the runs of the newest generation of one device, newest first.

    A run without a generation (from a file) forms its own generation. If the runs are of several devices or labels,
    those of the newest run's device and label are returned.
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

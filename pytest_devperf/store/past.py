"""Read the runs that a report shows its cases over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_devperf.record.record import Run
from pytest_devperf.store.store import Store

NEWEST_RUNS = 50
"""Runs of a history: more points cannot be distinguished on a screen."""


def past_runs(store: Store, label: str, runs: Sequence[Run]) -> Mapping[str, Sequence[Run]]:
    """Read the newest runs of a label for each device of a report, and add the report's own runs.

    Args:
        store: Where the runs are saved.
        label: Their label.
        runs: The runs of the report; one that is also saved is not added twice.

    Returns:
        Fingerprint of the device -> runs.

    Raises:
        StoreError: A file is damaged or not a run.
    """
    found = {}
    for device in dict.fromkeys(run.device.fingerprint for run in runs):
        own = [run for run in runs if run.device.fingerprint == device]
        known = {(run.id, run.taken_at): run for run in (*store.runs(device, label)[:NEWEST_RUNS], *own)}
        found[device] = list(known.values())
    return found

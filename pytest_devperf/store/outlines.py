"""Read runs without their samples, from a store that can or from whole runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from sys import intern
from typing import Protocol, runtime_checkable

from pytest_devperf.record.outline import AnyRun, RunOutline, with_shared_texts
from pytest_devperf.record.record import Run
from pytest_devperf.store.store import Store

NEWEST_RUNS = 50
"""Runs of a history: more points cannot be distinguished on a screen."""


@runtime_checkable
class OutlineStore(Protocol):
    """A store that reads runs without their samples, and single runs."""

    def outlines(self, fingerprint: str, label: str) -> Iterator[RunOutline]:
        """Read the runs of a label of a device without their samples, one by one, newest first.

        Raises:
            StoreError: A file is damaged or not a run; the message names it.
        """
        ...

    def some_runs(self, fingerprint: str, label: str, ids: Collection[str]) -> Iterator[Run]:
        """Read those runs of a label of a device that have one of the ids, one by one, newest first.

        Raises:
            StoreError: A file is damaged or not a run; the message names it.
        """
        ...


def read_outlines(store: Store, fingerprint: str, label: str) -> Iterator[AnyRun]:
    """Read the runs of a label of a device one by one, newest first; without their samples if the store can.

    Raises:
        StoreError: A file is damaged or not a run; the message names it.
    """
    if isinstance(store, OutlineStore):
        yield from store.outlines(fingerprint, label)
    else:
        yield from store.runs(fingerprint, label)


def read_some(store: Store, fingerprint: str, label: str, ids: Collection[str]) -> Iterable[Run]:
    """Read those runs of a label of a device that have one of the ids, one by one, newest first.

    Raises:
        StoreError: A file is damaged or not a run; the message names it.
    """
    if not ids:
        return ()
    if isinstance(store, OutlineStore):
        return store.some_runs(fingerprint, label, ids)
    return (run for run in store.runs(fingerprint, label) if run.id in ids)


def newest_outlines(store: Store, fingerprint: str, label: str) -> Iterator[AnyRun]:
    """Read the newest generation of a label of a device one by one, newest first; without samples if the store can.

    Raises:
        StoreError: A file is damaged or not a run; the message names it.
    """
    runs = iter(read_outlines(store, fingerprint, label))
    newest = next(runs, None)
    if newest is not None:
        yield newest
        # A run without a generation is one of its own.
        yield from takewhile(lambda run: run.generation is not None and run.generation == newest.generation, runs)


def read_generation(store: Store, fingerprint: str, label: str, *, per_case: int) -> Sequence[Run]:
    """Read the newest generation of a label of a device, newest first, without runs that no baseline contains.

    Args:
        store: The store.
        fingerprint: The device.
        label: The label.
        per_case: Passed records that the baseline of a case contains, the newest ones.

    Raises:
        StoreError: A file is damaged or not a run; the message names it.
    """
    if not isinstance(store, OutlineStore):
        return store.runs(fingerprint, label, newest=True)
    passed = [
        (run.taken_at, run.id, {intern(each.id) for each in run.cases if each.outcome == "passed"})
        for run in newest_outlines(store, fingerprint, label)
    ]
    found = Counter[str]()
    ids = set()
    for _, run_id, cases in sorted(passed, key=lambda each: each[0], reverse=True):
        if not _is_complete(cases, found, per_case):
            ids.add(run_id)
        found.update(cases)
    return tuple(islice(store.some_runs(fingerprint, label, ids), len(ids)))


def _is_complete(cases: Collection[str], found: Mapping[str, int], per_case: int) -> bool:
    """Return whether enough newer runs contain every case."""
    return all(found.get(each, 0) >= per_case for each in cases)


def past_runs(store: Store, label: str, runs: Sequence[Run]) -> Mapping[str, Sequence[AnyRun]]:
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
        past = map(_lean, islice(read_outlines(store, device, label), NEWEST_RUNS))
        known: dict[tuple[str, str], AnyRun] = {(run.id, run.taken_at): run for run in (*past, *own)}
        found[device] = list(known.values())
    return found


def _lean(run: AnyRun) -> AnyRun:
    return with_shared_texts(run) if isinstance(run, RunOutline) else run

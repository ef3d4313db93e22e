"""Name generations: the runs of a label that form one baseline."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from msgspec.structs import replace

from pytest_devperf.errors import StoreError
from pytest_devperf.record.record import Run
from pytest_devperf.store.store import GenerationStore, Store

_FORM = "%Y-%m-%dT%H:%M:%SZ"
"""Format of every time in a run document."""


def save_run(store: Store, run: Run, *, append: bool) -> str:
    """Save a run in a new generation of its label, or in the newest one, and return its location.

    Every save without `append` starts a new generation, even if several sessions save at the same moment.

    Args:
        store: Where to save it.
        run: The run, with its label.
        append: Whether it joins the newest generation, if there is one.

    Raises:
        StoreError: It cannot be written, or the generation to join cannot be read.
    """
    if isinstance(store, GenerationStore):
        return store.save_in_generation(run, append=append)
    generation = generation_for(store, run.device.fingerprint, run.label or "", append=append, taken_at=run.taken_at)
    return store.save(replace(run, generation=generation))


def generation_for(store: Store, fingerprint: str, label: str, *, append: bool, taken_at: str) -> str:
    """Name the generation of a run that is about to be saved.

    Args:
        store: Where it will be saved.
        fingerprint: Its device.
        label: Its label.
        append: Whether it joins the newest generation, if there is one.
        taken_at: Its time.

    Raises:
        StoreError: The run should join the newest generation, which cannot be read.
    """
    newest = None
    try:
        newest = next((run.generation for run in store.runs(fingerprint, label, newest=True) if run.generation), None)
    except StoreError:  # a damaged baseline is replaced, not joined
        if append:
            raise
    return next_generation(newest, taken_at, append=append)


def next_generation(newest: str | None, taken_at: str, *, append: bool) -> str:
    """Name the generation of a run, given the newest existing one.

    A generation is named by the time of its first run. If an older generation would sort after it, the name is one
    second later than that one: two saves may share a second, and a clock may be set back.

    >>> next_generation("2026-11-29T20:15:03Z", "2026-11-29T20:15:03Z", append=False)
    '2026-11-29T20:15:04Z'
    >>> next_generation("2026-11-29T20:15:03Z", "2026-12-01T08:00:00Z", append=True)
    '2026-11-29T20:15:03Z'
    """
    if newest is None:
        return taken_at
    if append:
        return newest
    return taken_at if taken_at > newest else _second_after(newest)


def _second_after(time: str) -> str:
    """Return the time one second later, or a longer name that sorts after it.

    >>> _second_after("2026-11-29T20:15:59Z")
    '2026-11-29T20:16:00Z'
    """
    try:
        return (datetime.strptime(time, _FORM).replace(tzinfo=timezone.utc) + timedelta(seconds=1)).strftime(_FORM)
    except ValueError:  # not written by this version
        return f"{time}+"

"""Generations: the runs of a label that belong together and make one baseline."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta, timezone

from pytest_devperf.errors import StoreError
from pytest_devperf.store.store import Store

_FORM = "%Y-%m-%dT%H:%M:%SZ"
"""Spelling of every time in a run document."""


def generation_for(store: Store, fingerprint: str, label: str, *, append: bool, taken_at: str) -> str:
    """Name the generation that a run belongs to which is about to be saved.

    Args:
        store: Where it will be saved.
        fingerprint: Its device.
        label: Its label.
        append: Whether it joins the newest generation, where there is one.
        taken_at: Its time; the name of a generation is the time of its first run,
            or later where an older generation would sort after it.

    Raises:
        StoreError: The newest generation is to be joined and cannot be read.
    """
    if append:
        runs = store.runs(fingerprint, label, newest=True)
        return next((run.generation for run in runs if run.generation), taken_at)
    newest = ""
    with suppress(StoreError):  # a damaged baseline is replaced, not joined
        newest = next((run.generation or "" for run in store.runs(fingerprint, label, newest=True)), "")
    return taken_at if taken_at > newest else _second_after(newest)


def _second_after(time: str) -> str:
    """Name a generation so that it sorts after another: two saves in one second are two, a clock may be set back.

    >>> _second_after("2026-11-29T20:15:59Z")
    '2026-11-29T20:16:00Z'
    """
    try:
        return (datetime.strptime(time, _FORM).replace(tzinfo=timezone.utc) + timedelta(seconds=1)).strftime(_FORM)
    except ValueError:  # somebody's own spelling
        return f"{time}+"

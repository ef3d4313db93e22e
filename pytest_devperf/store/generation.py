"""Generations: the runs of a label that belong together and make one baseline."""

from __future__ import annotations

from contextlib import suppress

from pytest_devperf.errors import StoreError
from pytest_devperf.store.store import Store


def generation_for(store: Store, fingerprint: str, label: str, *, append: bool, taken_at: str) -> str:
    """Name the generation that a run belongs to which is about to be saved.

    Args:
        store: Where it will be saved.
        fingerprint: Its device.
        label: Its label.
        append: Whether it joins the newest generation, where there is one.
        taken_at: Its time; the name of a generation is the time of its first run.

    Raises:
        StoreError: The newest generation is to be joined and cannot be read.
    """
    if append:
        runs = store.runs(fingerprint, label, newest=True)
        return next((run.generation for run in runs if run.generation), taken_at)
    newest: str = ""
    with suppress(StoreError):  # a damaged baseline is replaced, not joined
        newest = next((run.generation or "" for run in store.runs(fingerprint, label, newest=True)), "")
    second = taken_at.removesuffix("Z")
    if not newest.startswith(second):
        return taken_at
    # Two saves in the same second are two generations all the same.
    return f"{second}.{int(newest[len(second) :].strip('.Z') or 0) + 1:03}Z"

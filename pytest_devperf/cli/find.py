"""Find the runs for a word on the command line: a label, a run's id, or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pytest_devperf.cli.plugins import ask_for_store
from pytest_devperf.compare.history import NEWEST
from pytest_devperf.errors import UsageError
from pytest_devperf.record.record import Run
from pytest_devperf.store.file import means_a_file, read_file
from pytest_devperf.store.open import DEFAULT, open_store
from pytest_devperf.store.outlines import read_generation, read_outlines, read_some
from pytest_devperf.store.store import LabelSummary, Store

_SHORTEST_ID = 4
"""Fewest characters that are treated as the beginning of an id."""


def store_at(spec: str | None) -> Store:
    """Open the store of `--store`, or the nearest one from the current folder upwards.

    Raises:
        UsageError: The spec is not a store.
    """
    here = Path.cwd()
    if spec is None:
        return open_store(None, next((each for each in (here, *here.parents) if (each / DEFAULT).is_dir()), here))
    added = ask_for_store(spec)
    return open_store(spec, here) if added is None else added


def find_runs(word: str, store: Store) -> Sequence[Run]:
    """Find the runs for a word: those of a file, the newest one of a label on each device, or one by id.

    Raises:
        UsageError: There are none; the message lists existing labels.
    """
    if _means_a_file(word, store):
        return _runs_of_file(word)
    label_summaries = store.label_summaries()
    named = [label_summary for label_summary in label_summaries if label_summary.label == word]
    if named:
        return [_newest(store, label_summary) for label_summary in named]
    return _by_id(word, store, label_summaries)


def newest_runs(store: Store) -> Sequence[Run]:
    """Find the newest saved run of each device.

    Raises:
        UsageError: There is none.
    """
    newest: dict[str, LabelSummary] = {}
    for summary in sorted(store.label_summaries(), key=lambda each: each.newest):
        newest[summary.device.fingerprint] = summary
    if not newest:
        raise UsageError(f"{store} has no run", "save one with pytest --devperf-save LABEL, or name a file")
    return [_newest(store, each) for each in newest.values()]


def _newest(store: Store, summary: LabelSummary) -> Run:
    """Read the newest run of a label."""
    device, label = summary.device.fingerprint, summary.label
    newest = next(iter(read_outlines(store, device, label)))
    return next(iter(read_some(store, device, label, {newest.id})))


def case_id(word: str, known: Iterable[str]) -> str:
    """Find the case for a word.

    Args:
        word: The user's word.
        known: Ids of cases.

    Raises:
        UsageError: It matches none, or several; the message lists them.
    """
    ids = sorted(set(known))
    near = [word] if word in ids else [case_id for case_id in ids if word in case_id]
    if len(near) == 1:
        return near[0]
    listed = ", ".join(near or ids)
    problem = f"{word!r} is part of several case ids" if near else f"no case named {word!r}"
    raise UsageError(problem, f"use one of {listed}" if ids else "save a run first")


def find_baseline(word: str, store: Store, fingerprint: str) -> Sequence[Run]:
    """Find the baseline of one device for a word: the newest generation of a label, a run's id, or a file.

    Runs from a file are returned for any device, so that the comparison can report that the device differs.

    Raises:
        UsageError: There are none on any device.
    """
    if _means_a_file(word, store):
        return _runs_of_file(word)
    runs = read_generation(store, fingerprint, word, per_case=NEWEST)
    if runs:
        return runs
    label_summaries = store.label_summaries()
    if any(label_summary.label == word for label_summary in label_summaries):
        return ()
    return _by_id(word, store, label_summaries)


def _means_a_file(word: str, store: Store) -> bool:
    return means_a_file(word, Path.cwd(), lambda: [label_summary.label for label_summary in store.label_summaries()])


def _runs_of_file(word: str) -> Sequence[Run]:
    runs = read_file(word).runs
    if not runs:
        raise UsageError(f"{word} has no run", "name another file")
    return runs


def _by_id(word: str, store: Store, label_summaries: Sequence[LabelSummary]) -> Sequence[Run]:
    found = [
        run
        for label_summary in label_summaries
        if len(word) >= _SHORTEST_ID
        for run in _matching(word, store, label_summary)
    ]
    if len(found) == 1:
        return found
    if found:
        ids = ", ".join(run.id for run in found)
        raise UsageError(f"{word!r} is the beginning of several run ids ({ids})", "add more characters")
    raise UsageError(f"no label or run named {word!r} in {store}", _listed(label_summaries))


def _matching(word: str, store: Store, label_summary: LabelSummary) -> Iterator[Run]:
    device, label = label_summary.device.fingerprint, label_summary.label
    ids = {run.id for run in read_outlines(store, device, label) if run.id.startswith(word)}
    yield from read_some(store, device, label, ids)


def device_label_summaries(store: Store, label: str, device: str | None) -> Sequence[LabelSummary]:
    """Find the summaries of a label, for every device or for one.

    Args:
        store: The store.
        label: The label.
        device: Beginning of a device's fingerprint; None: every device.

    Raises:
        UsageError: There is none; the message lists existing labels.
    """
    label_summaries = store.label_summaries()
    found = [
        each for each in label_summaries if each.label == label and each.device.fingerprint.startswith(device or "")
    ]
    if found:
        return found
    there = _listed(label_summaries)
    where = f" of a device {device}" if device else ""
    raise UsageError(f"no label named {label!r}{where} in {store}", there)


def _listed(label_summaries: Sequence[LabelSummary]) -> str:
    names = dict.fromkeys(f"{each.label!r} of {each.device.kind} {each.device.fingerprint}" for each in label_summaries)
    return f"there is {'; '.join(names)}" if names else "the store is empty"

"""The index of a label in a remote store: one small numbered file per save, created only if it does not exist.

Two sessions cannot create the same number, so the numbers order all saves without a lock that a killed session would
hold, and each save knows the generation of the one before it. A listing reads an entry instead of a whole run.
"""

from __future__ import annotations

import re

import msgspec

from pytest_devperf.record.outline import RunHead
from pytest_devperf.record.record import Run
from pytest_devperf.store.generation import next_generation
from pytest_devperf.store.naming import age_of, file_name

INDEX = "index"
"""Folder of the entries, in the folder of the label."""

_ENTRY = re.compile(r"(\d{8,12})\.json")


class IndexEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a save found out before it wrote its run."""

    file: str
    """Name of the run's file."""
    head: RunHead
    claim: str = ""
    """Random text that distinguishes this save from every other one."""


_entries = msgspec.json.Decoder(IndexEntry)


def entry_name(number: int) -> str:
    """Name the file of an entry.

    >>> entry_name(7)
    '00000007.json'
    """
    return f"{number:08d}.json"


def number_of(name: str) -> int | None:
    """Return the number of an entry; None for another file.

    >>> number_of("00000007.json"), number_of("README.md")
    (7, None)
    """
    found = _ENTRY.fullmatch(name)
    return int(found[1]) if found else None


def decode_entry(data: bytes) -> IndexEntry | None:
    """Decode an entry; None if it is damaged: its save was killed on a file system without whole writes."""
    try:
        return _entries.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def next_entry(
    run: Run, newest: IndexEntry | None, listed: str | None, *, append: bool | None, claim: str
) -> IndexEntry:
    """Make the entry of a save.

    Args:
        run: The run.
        newest: The entry before it; None if there is none.
        listed: Name of the newest file of the label; other versions save without an index.
        append: Whether the run joins the newest generation; None: it has one already.
        claim: Distinguishes this save from every other one.
    """
    names = [name for name in (newest.file if newest is not None else None, listed) if name is not None]
    file = file_name(run, max(names, key=lambda name: age_of(name) or ("", 0), default=None))
    generation = run.generation
    if append is not None:
        known = newest.head.generation if newest is not None else None
        generation = next_generation(known, run.taken_at, append=append)
    head = RunHead(id=run.id, label=run.label, generation=generation, taken_at=run.taken_at, device=run.device)
    return IndexEntry(file=file, head=head, claim=claim)

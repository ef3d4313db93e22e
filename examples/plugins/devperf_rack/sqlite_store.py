"""A store: runs as rows of one SQLite file, `--devperf-store=sqlite:FILE`."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby

from pytest_devperf import Document, LabelSummary, Run, StoreError, decode, encode

TABLE = """
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY, fingerprint TEXT, label TEXT, generation TEXT, document BLOB
)
"""


def make_store(spec: str) -> SqliteStore | None:
    """Open the store of `sqlite:FILE`; other specs belong to other plugins."""
    kind, _, path = spec.partition(":")
    return SqliteStore(path) if kind == "sqlite" else None


class SqliteStore:
    """One row per run; a later row is a newer run."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __str__(self) -> str:
        """Return the name of the store for messages."""
        return f"sqlite:{self._path}"

    def check_writable(self) -> None:
        """Check, before anything is measured, that a run can be saved."""
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            database.rollback()

    def save(self, run: Run) -> str:
        """Save a run completely or not at all: its row is written in one transaction."""
        row = (run.device.fingerprint, run.label, run.generation, encode(Document(runs=(run,))))
        with self._open() as database, database:
            database.execute("INSERT INTO runs (fingerprint, label, generation, document) VALUES (?, ?, ?, ?)", row)
        return str(self)

    def runs(self, fingerprint: str, label: str, *, newest: bool = False) -> Sequence[Run]:
        """Read the runs of a label of a device, newest first."""
        wanted = (
            "SELECT number, generation, document FROM runs WHERE fingerprint = ? AND label = ? ORDER BY number DESC"
        )
        with self._open() as database:
            rows = database.execute(wanted, (fingerprint, label)).fetchall()
        if newest and rows:
            rows = [row for row in rows if row[1] == rows[0][1]]
        return [run for number, _, document in rows for run in decode(document, f"{self}, run {number}").runs]

    def label_summaries(self) -> Sequence[LabelSummary]:
        """List the labels of each device; `decode` validates the documents."""
        with self._open() as database:
            rows = database.execute("SELECT number, document FROM runs ORDER BY fingerprint, label, number").fetchall()
        every = [run for number, document in rows for run in decode(document, f"{self}, run {number}").runs]
        return [_summarise(list(runs)) for _, runs in groupby(every, lambda run: (run.device.fingerprint, run.label))]

    @contextmanager
    def _open(self) -> Generator[sqlite3.Connection, None, None]:
        try:
            with closing(sqlite3.connect(self._path)) as database:
                database.execute(TABLE)
                yield database
        except sqlite3.Error as error:
            raise StoreError(f"{self} cannot be used ({error})", "check the path and its permissions") from error


def _summarise(runs: Sequence[Run]) -> LabelSummary:
    last = runs[-1]
    return LabelSummary(device=last.device, label=last.label or "", runs=len(runs), newest=last.taken_at)

"""The entries of a session's log: what identifies the session, and one entry for each process start of a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar, Union

import msgspec

from pytest_devperf.case.workload import App
from pytest_devperf.errors import StoreError
from pytest_devperf.sensor.context import Context
from pytest_devperf.session.cases.case_state import Problem
from pytest_devperf.session.cases.found import OldFound
from pytest_devperf.session.launch.follow import WorkerResult
from pytest_devperf.session.starts.start import CaseStart
from pytest_devperf.targets.app.wire import CaseReport

T = TypeVar("T")


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be the same if a session is resumed, each as text by name."""

    software: dict[str, str]
    options: dict[str, str]
    cases: dict[str, str]
    """Plan and properties of each case, by its id."""
    baseline: list[str]
    """Ids of the runs that are compared with."""
    commit: str | None
    files: dict[str, str]
    """Hashes of the code that was imported from the project, by path."""


class LogHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first entry of a log."""

    session_id: str
    taken_at: str
    seed: int
    shuffle_seed: int | None
    """The seed of a plugin that shuffles tests and seeds `random`; None: there is none."""
    facts: SessionFacts


class FirstEntry(msgspec.Struct, frozen=True, kw_only=True, tag="first"):
    """Start 1 of a case."""

    case: str
    start: CaseStart
    reports: list[Mapping[str, Any]]
    """The test's reports as plain data, for the edge."""
    app: App | None = None
    """The app that the test launched, if it reported cases."""
    app_reports: list[CaseReport] = []
    retake_wait_s: float = 0.0


class LaterEntry(msgspec.Struct, frozen=True, kw_only=True, tag="later"):
    """A later start of a case."""

    case: str
    process: int
    result: WorkerResult | None
    problem: Problem | None
    prerun: Context | None
    old: OldFound | None
    pair: int | None
    retake_wait_s: float = 0.0


Entry = Union[FirstEntry, LaterEntry]

_headers: msgspec.msgpack.Decoder[LogHeader] = msgspec.msgpack.Decoder(LogHeader)
_entries: msgspec.msgpack.Decoder[Entry] = msgspec.msgpack.Decoder(Entry)
_encoder = msgspec.msgpack.Encoder(enc_hook=repr)


def encode_entry(entry: LogHeader | Entry) -> bytes:
    """Encode an entry; a value of a report that is not plain data is replaced by its description."""
    return _encoder.encode(entry)


def decode_header(data: bytes, source: str) -> LogHeader:
    """Decode the first entry of a log.

    Raises:
        StoreError: It is not one.
    """
    return _decode(_headers, data, f"{source} was written by another version of pytest-devperf")


def decode_entry(data: bytes, source: str) -> Entry:
    """Decode any other entry of a log.

    Raises:
        StoreError: It is not one.
    """
    return _decode(_entries, data, f"{source} contains an entry of another version of pytest-devperf")


def _decode(decoder: msgspec.msgpack.Decoder[T], data: bytes, otherwise: str) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, RecursionError):
        raise StoreError(otherwise, "delete it") from None


def looks_of(entry: Entry) -> list[Context]:
    """Return the readings of a start."""
    return [*entry.start.looks] if isinstance(entry, FirstEntry) else _looks_of(entry.result)


def _looks_of(result: WorkerResult | None) -> list[Context]:
    return [*result.start.looks] if result is not None and result.start is not None else []


def earlier(entry: Entry, by_ns: int) -> Entry:
    """Move the readings of a start into the past: the clock of another session may have begun later.

    Args:
        entry: The start.
        by_ns: By how much.
    """
    for start in _starts_of(entry):
        start.looks = [replace(look, at_ns=look.at_ns - by_ns) for look in start.looks]
    return entry


def _starts_of(entry: Entry) -> list[CaseStart]:
    if isinstance(entry, FirstEntry):
        return [entry.start]
    results = [entry.result, entry.old.result if entry.old is not None else None]
    return [result.start for result in results if result is not None and result.start is not None]

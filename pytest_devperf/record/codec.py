"""Encode run documents, and decode and validate them.

The encoding is UTF-8 JSON formatted for people and for `git diff`: keys in the order of the types, one
row of samples per line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from math import isfinite
from typing import Any

import msgspec
from msgspec.structs import replace

from pytest_devperf.case.plan import PLAN_UNITS, Plan
from pytest_devperf.english import counted
from pytest_devperf.errors import StoreError
from pytest_devperf.record.json_text import NotFiniteError, Parts, foreign, keyed, stream
from pytest_devperf.record.outline import RunHead, RunOutline
from pytest_devperf.record.record import SCHEMA, Confirmation, Document, Measurement, Record, Run
from pytest_devperf.record.rows import read_rows, rows_schema
from pytest_devperf.untrusted import excerpt, is_lfs_pointer, shown

_FAMILY, _, _VERSION = SCHEMA.partition("/")

_CUT_SHORT = re.compile(rb'\A\s*\{\s*"schema"\s*:\s*"' + _FAMILY.encode() + rb"/")
"""Beginning of every document: if such a document cannot be parsed, it is damaged and not foreign."""

_MOST_KHZ = 10**9
"""A terahertz."""

_MEND = "restore it from a copy or delete it"


class _Wire(msgspec.Struct, frozen=True, kw_only=True, rename={"form": "schema"}):
    """A document that was read: it must contain its schema, unlike one that is created."""

    form: str
    runs: tuple[Run, ...]


class _WireHead(msgspec.Struct, frozen=True, kw_only=True, rename={"form": "schema"}):
    form: str
    runs: tuple[RunHead, ...]


class _WireOutline(msgspec.Struct, frozen=True, kw_only=True, rename={"form": "schema"}):
    form: str
    runs: tuple[RunOutline, ...]


class _Author(msgspec.Struct, frozen=True):
    devperf_version: str | None = None


class _Claim(msgspec.Struct, frozen=True, rename={"form": "schema"}):
    """The minimum that a document of any version contains."""

    form: str | None = None
    runs: tuple[_Author, ...] = ()


_documents = msgspec.json.Decoder(_Wire, dec_hook=read_rows)
_heads = msgspec.json.Decoder(_WireHead)
_outlines = msgspec.json.Decoder(_WireOutline)


def encode(document: Document) -> bytes:
    """Encode a document as JSON.

    Samples are integers if they are whole and were not divided by inner loops.

    Raises:
        StoreError: A number is NaN or infinite, a duration is not positive, or the number of rows of a metric does
            not match its process starts; such a document is never written.
    """
    return b"".join(encode_parts(document))


def encode_parts(document: Document) -> Iterator[bytes]:
    """Encode a document as `encode` does, case by case: a large one never exists as a whole.

    Raises:
        StoreError: As `encode`; what was returned before must not be kept.
    """
    for run in document.runs:
        flaw = next(_flaws(run, durations=True), None)
        if flaw is not None:
            raise StoreError(f"a run document cannot be written: {flaw}", "this is a fault of the measurement")
    runs = [(at, "", _parts_of_run(run)) for at, run in enumerate(document.runs)]
    whole: dict[str, Any] = {"schema": document.schema, "runs": Parts("[]", runs) if runs else []}
    try:
        yield from (part.encode() for part in stream(Parts("{}", keyed(whole)), ""))
    except NotFiniteError as bad:
        raise StoreError(
            f"a run document cannot be written: {bad} is not a finite number", "use null for what is not known"
        ) from None
    yield b"\n"


def decode(data: bytes, source: str) -> Document:
    """Decode a document, and validate its types and its consistency.

    A sample that is zero or negative is accepted: it makes its own case incomparable, not the file unreadable.

    Args:
        data: UTF-8 JSON.
        source: Name of the document in errors, usually a path.

    Raises:
        StoreError: It is not a run document, damaged, of another version, or inconsistent.
    """
    wire = _read(_documents, data, source)
    for run in wire.runs:
        flaw = next(_flaws(run, durations=False), None)
        if flaw is not None:
            raise StoreError(f"{source} is damaged: {flaw}", _MEND)
    return Document(schema=wire.form, runs=wire.runs)


def decode_heads(data: bytes, source: str) -> tuple[RunHead, ...]:
    """Decode only what a listing needs of every run of a document.

    Raises:
        StoreError: It is not a run document, damaged, or of another version.
    """
    heads: tuple[RunHead, ...] = _read(_heads, data, source).runs
    return heads


def decode_outlines(data: bytes, source: str) -> tuple[RunOutline, ...]:
    """Decode every run of a document without its samples.

    Raises:
        StoreError: It is not a run document, damaged, or of another version.
    """
    outlines: tuple[RunOutline, ...] = _read(_outlines, data, source).runs
    return outlines


def encode_outline(outline: RunOutline) -> bytes:
    """Encode an outline so that `decode_outlines` reads it."""
    return msgspec.json.encode(_WireOutline(form=SCHEMA, runs=(outline,)))


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the document."""
    described = msgspec.json.schema(_Wire, schema_hook=rows_schema)
    found = msgspec.json.decode(msgspec.json.encode(described))  # tuples are lists in JSON
    definitions = found["$defs"]
    definitions["Document"] = definitions.pop("_Wire") | {
        "title": "Document",
        "description": "What `--devperf-json` writes and the store keeps: one run per device.",
    }
    definitions["Document"]["properties"]["schema"] = {"const": SCHEMA}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{_FAMILY} run document, version {_VERSION}",
        "$ref": "#/$defs/Document",
        "$defs": {name: definitions[name] for name in sorted(definitions)},
    }


def settings_of(plan: Plan) -> dict[str, Any]:
    """Convert a plan to the `settings` of a run; the keys of times include their unit.

    >>> settings_of(Plan(max_time=9.0))["max_time_s"]
    9.0
    """
    return {PLAN_UNITS.get(each.name, each.name): getattr(plan, each.name) for each in fields(plan)}


def _read(decoder: msgspec.json.Decoder[Any], data: bytes, source: str) -> Any:  # noqa: ANN401 - the decoder's own type
    data = data.removeprefix(b"\xef\xbb\xbf")  # editors on Windows put a byte order mark before UTF-8
    try:
        wire = decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refusal(data, source, error) from None
    if wire.form != SCHEMA:
        raise _refusal(data, source, None)
    return wire


def _refusal(data: bytes, source: str, error: Exception | None) -> StoreError:
    """Return why bytes are not a valid document: foreign, another version, or damaged."""
    foreign = StoreError(
        f"{source} is not a {_FAMILY} run document", "name a file that --devperf-json or a store wrote"
    )
    if is_lfs_pointer(data):
        return StoreError(f"{source} is a Git LFS pointer, not the run document", "fetch it with `git lfs pull`")
    damaged = StoreError(f"{source} is damaged: {excerpt(str(error))}", _MEND)
    try:
        claim = msgspec.json.decode(data, type=_Claim)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if _CUT_SHORT.match(data):
            return damaged
        return foreign
    if claim.form is None or not claim.form.startswith(f"{_FAMILY}/"):
        return foreign
    if claim.form != SCHEMA:
        writers = sorted({run.devperf_version for run in claim.runs if run.devperf_version})
        needed = (
            f"pytest-devperf {excerpt(writers[-1])}, which wrote it, or newer" if writers else "a newer pytest-devperf"
        )
        return StoreError(
            f"{source} has version {shown(claim.form.partition('/')[2])}, not {_VERSION!r}", f"install {needed}"
        )
    return damaged


def _flaws(run: Run, *, durations: bool) -> Iterator[str]:
    """Describe inconsistencies of measurements.

    Args:
        run: The run to check.
        durations: Whether durations that are not positive and finite count as well.
    """
    for context in (run.run_context, *(case.run_context for case in run.cases)):
        if any(not 0 <= khz <= _MOST_KHZ for khz in context.clock_state.max_khz.values()):
            yield "a clock in it is faster than any processor's"
    for case in run.cases:
        for metric in case.metrics:
            where = f"{metric.name} of case {case.id!r}"
            others = [each for each in (metric.confirmation, metric.against) if each is not None]
            looks: list[Measurement | Confirmation] = [metric, *others]
            for flaw in (each for held in looks for each in _row_flaws(held)):
                yield f"{where} {flaw}"
            if durations and not all(map(_positive, looks)):
                yield f"{where} has a duration that is not a positive number"


def _row_flaws(held: Measurement | Confirmation) -> Iterator[str]:
    rows = held.samples_ns if held.samples_ns is not None else held.samples
    if rows is None:
        return
    if len(rows) != len(held.process):
        yield f"has {counted(len(rows), 'row')} of samples but {counted(len(held.process), 'process start')}"
    columns = {key: getattr(held, key, ()) for key in ("cpu_ns", "anchor_ns", "ran_ns", "temp_c", "clock_khz")}
    for key, found in {**columns, **getattr(held, "counters", {})}.items():
        if found and len(found) != len(rows):
            yield f"has {counted(len(rows), 'row')} of samples but {counted(len(found), 'value')} of {key}"


def _positive(held: Measurement | Confirmation) -> bool:
    return all(min(row) > 0 and isfinite(sum(row)) for row in held.samples_ns or () if row)


def _whole_numbers(metric: dict[str, Any]) -> None:
    """Convert whole nanoseconds and instructions to integers if a sample is a single call."""
    if metric["inner_loops"] not in {None, 1}:
        return
    key = "samples" if metric["kind"] == "counted" else "samples_ns"
    for held in (metric, metric["confirmation"] or {}, metric["against"] or {}):
        if held.get(key):
            held[key] = [[int(each) if each == int(each) else each for each in row] for row in held[key]]


def _parts_of_run(run: Run) -> Parts:
    plain: dict[str, Any] = msgspec.to_builtins(replace(run, cases=()), enc_hook=foreign)
    cases = ((at, "", _plain_case(record)) for at, record in enumerate(run.cases))
    return Parts("{}", keyed(plain | {"cases": Parts("[]", cases) if run.cases else []}))


def _plain_case(record: Record) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(record, enc_hook=foreign)
    for metric in plain["metrics"]:
        _whole_numbers(metric)
    return plain

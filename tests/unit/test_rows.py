"""Samples that were read are packed, and nobody can tell them from tuples."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf.record.codec import decode, encode
from pytest_devperf.record.record import DeviceRecord, Document, Measurement, Record, Run, WorkloadRecord
from pytest_devperf.record.rows import PackedRows, plain_rows, read_rows

ROWS = ((1.0, 2.5, 3.0), (), (4.0,))

floats = st.floats(min_value=1e-6, max_value=1e18)


@given(st.lists(st.lists(floats).map(tuple)).map(tuple), st.slices(6))
def test_packed_rows_look_like_the_tuple_they_were(rows: tuple[tuple[float, ...], ...], cut: slice) -> None:
    packed = PackedRows(rows)

    assert packed == rows
    assert rows == packed
    assert (len(packed), bool(packed), tuple(packed)) == (len(rows), bool(rows), rows)
    assert packed[cut] == rows[cut]
    assert [packed[at] for at in range(-len(rows), len(rows))] == [*rows, *rows]
    assert (hash(packed), repr(packed)) == (hash(rows), repr(rows))


@pytest.mark.parametrize("at", [3, -4])
def test_a_row_that_does_not_exist_is_an_index_error(at: int) -> None:
    with pytest.raises(IndexError):
        PackedRows(ROWS)[at]


@pytest.mark.parametrize("other", [((1.0, 2.5, 3.0), (), (5.0,)), ROWS[:2], "rows", None, PackedRows(ROWS[:2])])
def test_other_rows_are_not_equal(other: object) -> None:
    assert PackedRows(ROWS) != other


@pytest.mark.parametrize("damaged", [None, 1, "text", [1.0], [["1"]], [[True]], [[None]], {"0": [1.0]}])
def test_what_is_not_rows_of_numbers_is_refused(damaged: object) -> None:
    with pytest.raises(ValueError, match="Expected"):
        read_rows(PackedRows, damaged)


def test_the_hooks_leave_other_types_alone() -> None:
    with pytest.raises(NotImplementedError):
        read_rows(complex, [[1.0]])
    with pytest.raises(NotImplementedError):
        plain_rows(1j)


def a_document(rows: Sequence[tuple[float, ...]]) -> Document:
    measurement = Measurement(name="latency", unit="ms", process=tuple(0 for _ in rows), samples_ns=tuple(rows))
    case = Record(id="a", workload=WorkloadRecord(fingerprint="w", kind="call"), metrics=(measurement,))
    device = DeviceRecord(fingerprint="0123456789ab", kind="host")
    return Document(runs=(Run(taken_at="2026-11-29T20:15:03Z", devperf_version="0", device=device, cases=(case,)),))


def test_a_document_that_was_read_is_written_and_sent_as_before() -> None:
    document = a_document(((1.0, 2.5), (3.0,)))
    again = decode(encode(document), "x")

    assert again == document
    assert encode(again) == encode(document)
    sent = msgspec.msgpack.encode(again, enc_hook=plain_rows)
    assert msgspec.msgpack.decode(sent, type=Document, dec_hook=read_rows) == document
    plain = msgspec.to_builtins(again, enc_hook=plain_rows)
    assert msgspec.convert(plain, Document, dec_hook=read_rows) == document


def test_samples_that_were_read_take_a_quarter_of_the_memory() -> None:
    rows = tuple(tuple(1000.5 + each for each in range(30)) for _ in range(12))
    (case,) = decode(encode(a_document(rows)), "x").runs[0].cases
    packed = case.metrics[0].samples_ns

    assert isinstance(packed, PackedRows)
    held = sum(sys.getsizeof(each) for each in (packed, packed._values, packed._ends))
    assert held * 3 < sum(sys.getsizeof(row) + sum(map(sys.getsizeof, row)) for row in rows)

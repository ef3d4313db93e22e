"""Samples of a run that was read, in a quarter of the memory that tuples of floats take."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import overload

import msgspec

_FLOATS = "d"
_ENDS = "Q"


class PackedRows(Sequence[tuple[float, ...]]):
    """Rows of samples that look like a tuple of tuples; a row becomes a tuple only while it is used.

    >>> rows = PackedRows([(1.0, 2.0), (3.0,)])
    >>> rows[1], len(rows), rows == ((1.0, 2.0), (3.0,))
    ((3.0,), 2, True)
    """

    __slots__ = ("_ends", "_values")

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        """Copy the rows."""
        self._values: array[float] = array(_FLOATS)
        for row in rows:
            self._values.extend(row)
        self._ends: array[int] = array(_ENDS, accumulate(map(len, rows), initial=0))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._ends) - 1

    @overload
    def __getitem__(self, at: int) -> tuple[float, ...]: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[tuple[float, ...], ...]: ...
    def __getitem__(self, at: int | slice) -> tuple[float, ...] | tuple[tuple[float, ...], ...]:
        """Return a row, or several."""
        if isinstance(at, slice):
            return tuple(self[each] for each in range(*at.indices(len(self))))
        place = range(len(self))[at]
        return tuple(self._values[self._ends[place] : self._ends[place + 1]])

    def __iter__(self) -> Iterator[tuple[float, ...]]:
        """Return the rows one by one."""
        return (tuple(self._values[begin:end]) for begin, end in pairwise(self._ends))

    def __eq__(self, other: object) -> bool:
        """Return whether the other rows have the same values, packed or not."""
        if isinstance(other, PackedRows):
            return (self._ends, self._values) == (other._ends, other._values)
        return self.tolist() == [list(row) for row in other] if isinstance(other, (tuple, list)) else NotImplemented

    def __hash__(self) -> int:
        """Return the hash of the same tuple."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Format the rows like the tuple that they look like."""
        return repr(tuple(self))

    def tolist(self) -> list[list[float]]:
        """Return lists, which JSON can represent."""
        return [list(row) for row in self]


def read_rows(kind: type, plain: object) -> object:
    """Convert decoded JSON to the type of a field, as a hook of msgspec's decoders.

    Raises:
        ValueError: It is not a list of lists of numbers.
        NotImplementedError: The field is of another type.
    """
    if kind is not PackedRows:
        raise NotImplementedError(f"no document has a field of {kind}")
    try:
        return PackedRows(msgspec.convert(plain, tuple[tuple[float, ...], ...]))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def plain_rows(value: object) -> object:
    """Convert packed rows to lists, as a hook of msgspec's encoders.

    Raises:
        NotImplementedError: It is anything else that msgspec does not know.
    """
    if isinstance(value, PackedRows):
        return value.tolist()
    raise NotImplementedError(f"a {type(value).__name__} cannot be encoded")


def rows_schema(kind: type) -> dict[str, object]:
    """Describe the type of a field, as a hook of msgspec's JSON Schema.

    Raises:
        NotImplementedError: The field is of another type.
    """
    if kind is not PackedRows:
        raise NotImplementedError(f"no document has a field of {kind}")
    return {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}

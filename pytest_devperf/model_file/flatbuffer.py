"""Read FlatBuffers: tables, vectors and texts by their place in the schema.

Only a model's own description is read, which needs neither schema compiler nor runtime. Every offset is checked against
the file: a truncated or foreign file raises a `ValueError` and never causes a wild read. Many offsets may point to one
place, so the work is counted: reading a file never costs more than its length allows.

Source: FlatBuffers, "Internals" (offsets, vtables, vectors; all little-endian).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

VTABLE_HEAD_BYTES = 4
"""A vtable begins with its own size and that of its table, 16 bits each; then follow 16 bits per field."""

MOST_ITEMS = 1 << 24
"""Longest vector that is read: a model has thousands of tensors, a damaged length means billions."""

STEPS_PER_BYTE = 4
"""Fields, items and blocks of text that may be read per byte of a file. A file without shared parts has at most one in
two bytes."""

LEAST_STEPS = 10_000
"""Steps that every file may take, however short it is."""

TEXT_BLOCK_BYTES = 64
"""Bytes of text that count as one step: they are copied at once."""

SIZES = {"b": 1, "B": 1, "?": 1, "h": 2, "i": 4, "I": 4, "q": 8, "Q": 8}
"""Sizes in bytes of the scalars, by their letters in `struct`."""


def _scalar(data: memoryview, at: int, kind: str) -> int:
    if at < 0 or at + SIZES[kind] > len(data):
        raise ValueError("an offset points out of the file: damaged, or cut off")
    return int(struct.unpack_from(f"<{kind}", data, at)[0])


@dataclass(slots=True)
class Effort:
    """The work that may still be spent on a file."""

    steps_left: int

    def spend(self, steps: int) -> None:
        """Count work.

        Raises:
            ValueError: It exceeds what a file of this length can need.
        """
        self.steps_left -= steps
        if self.steps_left < 0:
            raise ValueError("its parts refer to one another without end: damaged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of a FlatBuffer; its fields are numbered in the order of the schema, unions counting twice."""

    data: memoryview
    at: int
    effort: Effort

    def number(self, field: int, kind: str, default: int = 0) -> int:
        """Read a scalar; return the schema's default if it is missing.

        Args:
            field: Number of the field.
            kind: Its type as a letter of `struct`.
            default: The schema's default.
        """
        at = self._place(field)
        return default if at is None else _scalar(self.data, at, kind)

    def table(self, field: int) -> Table | None:
        """Follow a field to another table."""
        at = self._target(field)
        return None if at is None else Table(data=self.data, at=at, effort=self.effort)

    def text(self, field: int) -> str:
        """Read a text; empty if it is missing."""
        at = self._target(field)
        if at is None:
            return ""
        size = _scalar(self.data, at, "I")
        if at + 4 + size > len(self.data):
            raise ValueError("a text runs out of the file: damaged, or cut off")
        self.effort.spend(size // TEXT_BLOCK_BYTES)
        return bytes(self.data[at + 4 : at + 4 + size]).decode("utf-8", "replace")

    def numbers(self, field: int, kind: str) -> tuple[int, ...] | None:
        """Read a vector of scalars; None if it is missing."""
        at = self._target(field)
        if at is None:
            return None
        count = self._count(at, SIZES[kind])
        return tuple(map(int, struct.unpack_from(f"<{count}{kind}", self.data, at + 4)))

    def tables(self, field: int) -> tuple[Table, ...]:
        """Follow a vector of tables; empty if it is missing."""
        return tuple(self._tables(field))

    def _tables(self, field: int) -> Iterator[Table]:
        at = self._target(field)
        for index in range(0 if at is None else self._count(at, 4)):
            place = (at or 0) + 4 + 4 * index
            yield Table(data=self.data, at=place + _scalar(self.data, place, "I"), effort=self.effort)

    def _count(self, at: int, item_bytes: int) -> int:
        count = _scalar(self.data, at, "I")
        if count > MOST_ITEMS or at + 4 + count * item_bytes > len(self.data):
            raise ValueError("a vector runs out of the file: damaged, or cut off")
        self.effort.spend(count)
        return count

    def _place(self, field: int) -> int | None:
        self.effort.spend(1)
        vtable = self.at - _scalar(self.data, self.at, "i")
        slot = VTABLE_HEAD_BYTES + 2 * field
        if slot + 2 > _scalar(self.data, vtable, "h"):
            return None  # written by an older schema
        offset = _scalar(self.data, vtable + slot, "h")
        return self.at + offset if offset else None

    def _target(self, field: int) -> int | None:
        at = self._place(field)
        return None if at is None else at + _scalar(self.data, at, "I")


def read_root(data: bytes | memoryview, identifier: bytes) -> Table:
    """Find the root table of a file.

    Args:
        data: The whole file.
        identifier: The four bytes of the schema's identifier, or their beginning.

    Raises:
        ValueError: It is another kind of file.
    """
    view = memoryview(data)
    stamp = bytes(view[4:8])
    if len(stamp) < 4 or not stamp.startswith(identifier):  # noqa: PLR2004 - the stamp's size
        raise ValueError(f"it lacks the identifier {identifier.decode()}")
    effort = Effort(LEAST_STEPS + STEPS_PER_BYTE * len(view))
    return Table(data=view, at=_scalar(view, 0, "I"), effort=effort)

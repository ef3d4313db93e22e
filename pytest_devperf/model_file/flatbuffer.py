"""Reads FlatBuffers: tables, vectors and texts by their place in the schema.

Only what a model's file says about itself is read, so no schema compiler and no runtime is needed. Every
offset is checked against the file: a cut-off or foreign file gives a `ValueError`, never a wild read. Offsets may
point to one place many times, so the work is counted: reading a file never costs more than its length allows.

Source: FlatBuffers, "Internals" (offsets, vtables, vectors; all little-endian).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

VTABLE_HEAD_BYTES = 4
"""A vtable begins with its own size and its table's, 16 bits each; then come 16 bits for each field."""

MOST_ITEMS = 1 << 24
"""Longest vector that is walked: a model has thousands of tensors, a damaged length has billions."""

STEPS_PER_BYTE = 4
"""Fields, items and blocks of text that may be read for each byte of a file. A file in which no part is shared has at
most one in two bytes."""

LEAST_STEPS = 10_000
"""What a file may cost however short it is."""

TEXT_BLOCK_BYTES = 64
"""Bytes of text that count as one step: they are copied, not walked."""

SIZES = {"b": 1, "B": 1, "?": 1, "h": 2, "i": 4, "I": 4, "q": 8, "Q": 8}
"""Bytes of the scalars that are read, by their letters in `struct`."""


def _scalar(data: memoryview, at: int, kind: str) -> int:
    if at < 0 or at + SIZES[kind] > len(data):
        raise ValueError("an offset points out of the file: damaged, or cut off")
    return int(struct.unpack_from(f"<{kind}", data, at)[0])


@dataclass(slots=True)
class Effort:
    """Work that may still be spent on a file."""

    steps_left: int

    def spend(self, steps: int) -> None:
        """Count some work.

        Raises:
            ValueError: It is more than a file of this length can need.
        """
        self.steps_left -= steps
        if self.steps_left < 0:
            raise ValueError("its parts point to one another without end: damaged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of a FlatBuffer; its fields are numbered in the order of the schema, unions counting twice."""

    data: memoryview
    at: int
    effort: Effort

    def number(self, field: int, kind: str, default: int = 0) -> int:
        """Read a scalar; the schema's default where it is not written.

        Args:
            field: Number of the field.
            kind: Its type as a letter of `struct`.
            default: The schema's.
        """
        at = self._place(field)
        return default if at is None else _scalar(self.data, at, kind)

    def table(self, field: int) -> Table | None:
        """Follow a field to another table."""
        at = self._target(field)
        return None if at is None else Table(data=self.data, at=at, effort=self.effort)

    def text(self, field: int) -> str:
        """Read a text; empty where there is none."""
        at = self._target(field)
        if at is None:
            return ""
        size = _scalar(self.data, at, "I")
        if at + 4 + size > len(self.data):
            raise ValueError("a text runs out of the file: damaged, or cut off")
        self.effort.spend(size // TEXT_BLOCK_BYTES)
        return bytes(self.data[at + 4 : at + 4 + size]).decode("utf-8", "replace")

    def numbers(self, field: int, kind: str) -> tuple[int, ...] | None:
        """Read a vector of scalars; None where there is none."""
        at = self._target(field)
        if at is None:
            return None
        count = self._count(at, SIZES[kind])
        return tuple(map(int, struct.unpack_from(f"<{count}{kind}", self.data, at + 4)))

    def tables(self, field: int) -> tuple[Table, ...]:
        """Follow a vector of tables; empty where there is none."""
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
        identifier: The four bytes its schema stamps it with; a shorter text stands for its beginning.

    Raises:
        ValueError: It is another kind of file.
    """
    view = memoryview(data)
    stamp = bytes(view[4:8])
    if len(stamp) < 4 or not stamp.startswith(identifier):  # noqa: PLR2004 - the stamp's size
        raise ValueError(f"it does not bear the stamp {identifier.decode()}")
    effort = Effort(LEAST_STEPS + STEPS_PER_BYTE * len(view))
    return Table(data=view, at=_scalar(view, 0, "I"), effort=effort)

"""Hash values so that equal values hash equally in every process, on every machine, under every hash seed.

Hashing any value ends without an error: containers are read with the methods of their built-in type, and a value that
cannot be read is represented by the name of its type.
"""

from __future__ import annotations

import array
import dataclasses
import hashlib
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MemberDescriptorType
from typing import Any

from pytest_devperf.case.array import ArrayFacts, is_array, read_array, read_objects
from pytest_devperf.case.placeholder import Placeholders, Prefixes

DEEPEST = 100
"""Levels of nesting to read: Python's own stack ends at 1000 calls, and a level takes a few."""

MOST_RETURNS = 2_000
"""How often parts of a cycle are read again within one value. A tree whose nodes know their parents needs none of it;
seven objects that all refer to each other use it up."""

MOST_ENTRIES = 100_000
"""Entries to read from mappings that are not a `dict`: their own code produces them, possibly without end."""

SMALL = 16
"""Entries up to which a container of scalars is read again instead of remembered: both take the same time."""

CHUNK = 10_000
"""Numbers of a list to format at a time: a list of millions does not need all of its text at once."""

_NUMBERS = {int, float, bool, type(None)}
"""Types whose `repr` is the value, and the same in every Python: long lists of them are hashed in one step."""


class _Endless(Exception):
    """A value cannot be read within the limits."""


def _join(kind: bytes, parts: Iterable[bytes]) -> bytes:
    """Hash parts under a kind; each part is preceded by its length, so that parts cannot run into each other."""
    return kind + hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).digest()


def type_name(value: object) -> str:
    """Return the name of a value's type without its module, which changes between versions of a library."""
    name: str = type.__dict__["__qualname__"].__get__(type(value))
    return name


class Digest:
    """Computes digests of values.

    None, bool, int, float, complex, str, bytes, arrays, and containers and dataclasses of these are hashed by value;
    any other object by its type's qualified name. A container is read once, however often it occurs,
    so values must not change while a `Digest` is in use.
    """

    def __init__(self, prefixes: Prefixes | None = None) -> None:
        self.placeholders = Placeholders(prefixes or {})
        self._above: dict[int, object] = {}
        """Containers that are being read, by id, the outermost first."""
        self._known: dict[int, tuple[object, bytes]] = {}
        """Containers and arrays read so far, by id; keeping them alive keeps the ids valid."""
        self._arrays: dict[int, tuple[object, ArrayFacts]] = {}
        self._cyclic: dict[int, object] = {}
        """Containers whose digest depends on where they occur: parts of a cycle, or too deep; kept alive, too."""
        self._read = 0
        """How many containers and arrays were read so far."""
        self._cuts = 0
        """How often reading stopped, at a container within itself or at the deepest level."""
        self._endless: dict[int, object] = {}
        """Parts of values that could not be read within the limits, by id; kept alive, too."""
        self._returns = self._entries = 0

    def of(self, value: object) -> bytes:
        """Return the digest of one value: 32 bytes."""
        self._returns = self._entries = 0
        try:
            written = self.write(value)
        except _Endless:
            self._endless.update(self._cyclic | self._above)
            self._above.clear()
            written = _opaque(value)
        return hashlib.sha256(written).digest()

    def array(self, value: object) -> ArrayFacts | None:
        """Read an array of numbers, dates or texts; return None for any other value."""
        if not is_array(value):
            return None
        if id(value) not in self._arrays:
            self.of(value)
        _, facts = self._arrays.get(id(value), (None, None))
        return facts

    def write(self, value: object) -> bytes:
        """Encode one value in bytes that no other value has: a scalar's own, a container's digest."""
        scalar = _SCALARS.get(type(value))
        if scalar is not None:
            return scalar(value)
        if issubclass(type(value), str):
            return b"str " + _encode(self.placeholders.put_into(str.__str__(value)))
        known = self._known.get(id(value))
        return known[1] if known is not None else self._write_once(value)

    def count_entry(self) -> None:
        """Count an entry produced by a mapping's own code."""
        self._entries += 1
        if self._entries > MOST_ENTRIES:
            raise _Endless

    def _write_once(self, value: object) -> bytes:
        place = id(value)
        if place in self._above:  # a container within itself
            self._cuts += 1
            return b"again %d" % (len(self._above) - list(self._above).index(place))
        if len(self._above) >= DEEPEST:
            self._cuts += 1
            return _opaque(value)
        self._returns += place in self._cyclic
        if self._returns > MOST_RETURNS or place in self._endless:
            raise _Endless
        self._read += 1
        read, cuts = self._read, self._cuts
        self._above[place] = value
        try:
            written = self._of(value)
        except _Endless:
            raise
        except Exception:  # noqa: BLE001 - a value's own code may raise anything
            written = _opaque(value)
        del self._above[place]
        if self._cuts > cuts:
            self._cyclic[place] = value
        elif self._read > read or not _is_small(value):
            self._known[place] = (value, written)
        return written

    def _of(self, value: object) -> bytes:
        # Decide by the type itself: proxies and mocks answer with another `__class__`.
        kind = type(value)
        for known, write in _KINDS:
            if issubclass(kind, known):
                return write(self, value)
        if is_array(value):
            return self._array(value)
        if dataclasses.is_dataclass(kind):
            fields = [(each.name, _field(value, each.name)) for each in dataclasses.fields(kind)]
            return _join(b"dataclass ", [_encode(type_name(value)), *map(self.write, fields)])
        return _opaque(value)

    def _array(self, value: object) -> bytes:
        facts = read_objects(value, self._sha256_of) or read_array(value)
        self._arrays[id(value)] = (value, facts)
        return _join(b"array ", [facts.code.encode(), repr(list(facts.shape)).encode(), facts.sha256.encode()])

    def _sha256_of(self, elements: Sequence[object]) -> str:
        return hashlib.sha256(_sequence(self, elements)).hexdigest()


def _is_small(value: object) -> bool:
    return type(value) in {list, tuple, set, dict} and len(value) <= SMALL  # type: ignore[arg-type]


def _opaque(value: object) -> bytes:
    return b"object " + _encode(type_name(value))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _field(value: object, name: str) -> object:
    """Read a dataclass's field from where it is stored; return None if it is computed or missing."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    if name in own:
        return own[name]
    for each in type(value).__mro__:
        stored = each.__dict__.get(name)
        if isinstance(stored, MemberDescriptorType):  # a slot
            return stored.__get__(value)
    return None


def _integer(value: int) -> bytes:
    return b"int " + int.to_bytes(value, int.bit_length(value) // 8 + 1, "big", signed=True)


def _bytes(value: bytes | bytearray | memoryview) -> bytes:
    if isinstance(value, memoryview) and not value.c_contiguous:
        value = value.tobytes()
    return b"bytes " + hashlib.sha256(value).digest()


def _packed(value: array.array[Any]) -> bytes:
    """Write an `array.array`."""
    return _join(b"array ", [value.typecode.encode(), hashlib.sha256(value).digest()])


def _mapping(into: Digest, value: Mapping[Any, Any]) -> bytes:
    entries = dict.items(value) if isinstance(value, dict) else _foreign(into, value)
    return _join(b"mapping ", sorted(_pair(into.write(key), into.write(entry)) for key, entry in entries))


def _foreign(into: Digest, value: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Read a mapping with its own code, which may produce entries without end."""
    for key in iter(value):
        into.count_entry()
        yield key, value[key]


def _pair(key: bytes, entry: bytes) -> bytes:
    return b"%d:%b%b" % (len(key), key, entry)


def _list(into: Digest, value: list[object]) -> bytes:
    return b"list " + _sequence(into, value if type(value) is list else list.copy(value))


def _tuple(into: Digest, value: tuple[object, ...]) -> bytes:
    return b"tuple " + _sequence(into, tuple.__getitem__(value, slice(None)))


def _sequence(into: Digest, value: Sequence[object]) -> bytes:
    types = set(map(type, value))
    if types <= _NUMBERS:
        try:
            return b"of numbers " + _numbers(value)
        except ValueError:  # an integer with more digits than Python prints
            return _join(b"", map(into.write, value))
    if types == {str}:
        return b"of texts " + _texts(into, value)  # type: ignore[arg-type]  # all are texts
    return _join(b"", map(into.write, value))


def _numbers(value: Sequence[object]) -> bytes:
    hashed = hashlib.sha256()
    numbers = iter(value)
    between = b""
    while spelled := ",".join(map(repr, islice(numbers, CHUNK))):
        hashed.update(between + spelled.encode())
        between = b","
    return hashed.digest()


def _texts(into: Digest, value: Sequence[str]) -> bytes:
    joined = "".join(value)
    if into.placeholders.may_go_into(joined):
        value = [into.placeholders.put_into(item) for item in value]
        joined = "".join(value)
    return hashlib.sha256(f"{','.join(map(str, map(len, value)))};".encode() + _encode(joined)).digest()


def _set(into: Digest, value: Iterable[object]) -> bytes:
    members: Any = frozenset.__iter__ if isinstance(value, frozenset) else set.__iter__
    return _join(b"set ", sorted(map(into.write, members(value))))


_SCALARS: Mapping[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"none",
    bool: lambda value: b"true" if value else b"false",
    int: _integer,
    float: lambda value: b"float " + struct.pack(">d", value),
}
"""How to encode scalars, the most frequent values."""

_KINDS: tuple[tuple[type | tuple[type, ...], Callable[[Digest, Any], bytes]], ...] = (
    (int, lambda _, value: _integer(value)),
    (float, lambda _, value: b"float " + struct.pack(">d", value)),
    (complex, lambda _, value: b"complex " + struct.pack(">dd", value.real, value.imag)),
    ((bytes, bytearray, memoryview), lambda _, value: _bytes(value)),
    (list, _list),
    (tuple, _tuple),
    (Mapping, _mapping),
    ((set, frozenset), _set),
    (deque, lambda into, value: b"deque " + _sequence(into, list(deque.__iter__(value)))),
    (range, lambda _, value: b"range " + repr(value).encode()),
    (array.array, lambda _, value: _packed(value)),
)
"""How to encode a value of each kind; the first that matches is used."""

"""Values hashed by what they are: equal in every process, on every machine, under every hash seed."""

from __future__ import annotations

import dataclasses
import hashlib
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Prefixes = Mapping[str, str]
"""Path prefix -> placeholder (`/home/me/project` -> `<rootdir>`): these differ between machines, not workloads."""

DEEPEST = 100
"""Levels of nesting that are looked into: Python's own stack ends at 1000 calls, and a level takes a few."""

_NUMBERS = {int, float, bool, type(None)}
"""Types whose `repr` is the value, and the same in every Python: long lists of them are hashed in one go."""


def _join(kind: bytes, parts: Iterable[bytes]) -> bytes:
    """Hash parts under a kind; each goes in with its length, so that none runs into the next."""
    return kind + hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).digest()


def replace_prefix(text: str, prefix: str, placeholder: str) -> str:
    """Put a placeholder where a path is, or begins with, a prefix; also in the middle of an option.

    >>> replace_prefix("--graph=/tmp/x/m.tflite", "/tmp/x", "<tmp>")
    '--graph=<tmp>/m.tflite'
    >>> replace_prefix("/tmp/xylophone", "/tmp/x", "<tmp>")
    '/tmp/xylophone'
    """
    prefix = prefix.rstrip("/\\")
    at = text.find(prefix) if prefix else -1
    while at >= 0:
        end = at + len(prefix)
        begins = at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "/\\._-")
        ends = end == len(text) or not (text[end].isalnum() or text[end] in "._-")
        if begins and ends:
            text = text[:at] + placeholder + text[end:]
            end = at + len(placeholder)
        at = text.find(prefix, end)
    return text


def is_array(value: object) -> bool:
    """Tell an array by what it offers: NumPy is not imported for those who don't use it."""
    return not isinstance(value, type) and all(hasattr(value, name) for name in ("dtype", "shape", "tobytes"))


def array_sha256(value: Any) -> str:  # noqa: ANN401 - any array
    """Hash an array's bytes in C order; of one that holds objects, its values."""
    if getattr(value.dtype, "hasobject", False):
        return Digest().of(value.tolist()).hex()
    try:
        return hashlib.sha256(memoryview(value)).hexdigest()
    except (ValueError, TypeError, BufferError):  # strided, or a type without a buffer (datetimes)
        return hashlib.sha256(value.tobytes()).hexdigest()


class Digest:
    """A digest of values.

    None, bool, int, float, complex, str, bytes, arrays, and containers and dataclasses of these go in by
    value; any other object by its type's qualified name.
    """

    def __init__(self, prefixes: Prefixes | None = None) -> None:
        # The longest first: a working directory within rootdir is the more exact name.
        given = {prefix.rstrip("/\\"): placeholder for prefix, placeholder in (prefixes or {}).items()}
        self._prefixes = sorted(
            ((prefix, placeholder) for prefix, placeholder in given.items() if prefix),
            key=lambda item: (-len(item[0]), item),
        )
        self._above: list[int] = []

    def of(self, value: object) -> bytes:
        """Digest one value: 32 bytes."""
        return hashlib.sha256(self.write(value)).digest()

    def write(self, value: object) -> bytes:
        """Write one value in bytes that no other value has: a scalar's own, a container's digest."""
        scalar = _SCALARS.get(type(value))
        if scalar is not None:
            return scalar(value)
        if isinstance(value, str):
            return b"str " + _encode(self.text(value))
        if id(value) in self._above:  # a container within itself
            return b"again %d" % (len(self._above) - self._above.index(id(value)))
        if len(self._above) >= DEEPEST:
            return b"object " + _type_name(value)
        self._above.append(id(value))
        try:
            return self._of(value)
        finally:
            self._above.pop()

    def may_hold_paths(self, text: str) -> bool:
        """Tell whether a prefix occurs at all."""
        return any(prefix in text for prefix, _ in self._prefixes)

    def text(self, text: str) -> str:
        """Put placeholders where a text holds a path of this machine."""
        for prefix, placeholder in self._prefixes:
            if prefix in text:
                text = replace_prefix(text, prefix, placeholder)
        return text

    def _of(self, value: object) -> bytes:
        for kind, digest in _KINDS:
            if isinstance(value, kind):
                return digest(self, value)
        if is_array(value):
            return _array(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [(each.name, getattr(value, each.name, None)) for each in dataclasses.fields(value)]
            return _join(b"dataclass ", [_type_name(value), *map(self.write, fields)])
        return b"object " + _type_name(value)


def _type_name(value: object) -> bytes:
    """Name a type without its module: modules move between versions of a library."""
    return type(value).__qualname__.encode()


def _array(value: Any) -> bytes:  # noqa: ANN401 - any array
    dtype = str(getattr(value.dtype, "str", value.dtype))
    shape = repr([int(size) for size in value.shape])
    return _join(b"array ", [dtype.encode(), shape.encode(), array_sha256(value).encode()])


def _integer(value: int) -> bytes:
    return b"int " + int(value).to_bytes(int(value).bit_length() // 8 + 1, "big", signed=True)


def _mapping(into: Digest, value: Mapping[Any, Any]) -> bytes:
    return _join(b"mapping ", sorted(_pair(into.write(key), into.write(entry)) for key, entry in value.items()))


def _pair(key: bytes, entry: bytes) -> bytes:
    return b"%d:%b%b" % (len(key), key, entry)


def _sequence(into: Digest, value: Sequence[object]) -> bytes:
    kind = b"list " if isinstance(value, list) else b"tuple "
    types = set(map(type, value))
    if types <= _NUMBERS:
        try:
            return kind + b"of numbers " + hashlib.sha256(",".join(map(repr, value)).encode()).digest()
        except ValueError:  # an integer of more digits than Python prints
            return _join(kind, map(into.write, value))
    if types == {str}:
        return kind + b"of texts " + _texts(into, [str(item) for item in value])
    return _join(kind, map(into.write, value))


def _texts(into: Digest, value: list[str]) -> bytes:
    joined = "".join(value)
    if into.may_hold_paths(joined):
        value = [into.text(item) for item in value]
        joined = "".join(value)
    return hashlib.sha256(f"{','.join(map(str, map(len, value)))};".encode() + _encode(joined)).digest()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _set(into: Digest, value: Iterable[object]) -> bytes:
    return _join(b"set ", sorted(map(into.write, value)))


_SCALARS: Mapping[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"none",
    bool: lambda value: b"true" if value else b"false",
    int: _integer,
    float: lambda value: b"float " + struct.pack(">d", value),
}
"""How the plainest values are written; they are most of what there is."""

_KINDS: tuple[tuple[type | tuple[type, ...], Callable[[Digest, Any], bytes]], ...] = (
    (int, lambda _, value: _integer(value)),
    (float, lambda _, value: b"float " + struct.pack(">d", value)),
    (complex, lambda _, value: b"complex " + struct.pack(">dd", value.real, value.imag)),
    ((bytes, bytearray, memoryview), lambda _, value: b"bytes " + hashlib.sha256(value).digest()),
    ((list, tuple), _sequence),
    (Mapping, _mapping),
    ((set, frozenset), _set),
    (range, lambda _, value: b"range " + repr(value).encode()),
)
"""How a value of each kind is written; the first that fits counts."""

"""Recognise and read arrays by what their type defines, so that NumPy is imported only by those who use it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

OFFERED = ("dtype", "shape", "tobytes")
"""Names that a type must define itself to count as an array type: some objects answer to every attribute name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayFacts:
    """What an array holds."""

    shape: tuple[int, ...]
    dtype: str
    """Its element type in words: `float32`."""
    code: str
    """Its element type with its byte order: `<f4`."""
    sha256: str
    """SHA-256 of its bytes in C order, in hex."""


def is_array(value: object) -> bool:
    """Return whether a value's type is an array type; none of the value's own code runs."""
    return all(defines(type(value), name) for name in OFFERED)


def defines(kind: type, name: str) -> bool:
    """Return whether a type or one of its bases defines a name, regardless of its metaclass."""
    return any(name in type.__dict__["__dict__"].__get__(each) for each in type.__dict__["__mro__"].__get__(kind))


def read_array(value: Any) -> ArrayFacts:  # noqa: ANN401 - any array
    """Read an array of numbers, dates or texts of a fixed size.

    Raises:
        TypeError: It is not an array that can be read.
    """
    dtype, shape, data = value.dtype, value.shape, _buffer(value)
    if not isinstance(shape, tuple) or not isinstance(data, (bytes, memoryview)):
        raise TypeError(type(value))
    return ArrayFacts(
        shape=tuple(map(int, shape)),
        dtype=str(dtype),
        code=str(getattr(dtype, "str", dtype)),
        sha256=hashlib.sha256(data).hexdigest(),
    )


def read_objects(value: object, sha256_of: Callable[[Sequence[object]], str]) -> ArrayFacts | None:
    """Read a NumPy array that holds objects; None for every other array.

    Args:
        value: The array.
        sha256_of: Hashes its elements, given in C order.
    """
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.ndarray, numpy.generic)):
        return None
    plain = numpy.asarray(value)
    if not plain.dtype.hasobject:
        return None
    return ArrayFacts(
        shape=plain.shape, dtype=str(plain.dtype), code=plain.dtype.str, sha256=sha256_of(plain.ravel().tolist())
    )


def _buffer(value: Any) -> bytes | memoryview:  # noqa: ANN401 - any array
    """Return an array's bytes in C order, without a copy if they are stored that way."""
    try:
        view = memoryview(value)
    except (ValueError, TypeError, BufferError):  # a type without a buffer (datetimes)
        return cast("bytes", value.tobytes())
    return view if view.c_contiguous else cast("bytes", value.tobytes())

"""The inputs of a model: given ones checked, missing ones made, the same in every run and on every target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.model_file.onnx import Slot
from pytest_devperf.untrusted import shown

if TYPE_CHECKING:
    import numpy as np

LARGEST_BYTES = 1 << 30
"""1 GiB of inputs made by us: more than that is a dimension gone wrong, and a phone would not take it."""

STRING_BYTES = 16
"""What a short string costs, for the cap alone."""

TEXT = "devperf"
"""Value of every element of a string input."""

ITEM_BYTES: Mapping[str, int] = {
    "float32": 4,
    "float64": 8,
    "float16": 2,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "bool": 1,
    "complex64": 8,
    "complex128": 16,
    "string": STRING_BYTES,
}
"""Element types that can be fed, with their sizes; all others have no NumPy type of their own."""


INDEX_TYPES = frozenset({"int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"})
"""Types of which a table's indices are; uint8 mostly holds pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """What a model is fed with."""

    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    """Arrays by input name, in the model's order; empty where the model cannot be fed."""
    reason: str | None = None
    """Why it cannot be fed, whatever a test passes."""
    wants: str | None = None
    """What a test has to pass before it can be fed."""
    indices: tuple[str, ...] = ()
    """Integer inputs that were made: a table may be shorter than they reach."""

    @property
    def is_ready(self) -> bool:
        """Whether it can be fed."""
        return self.reason is None and self.wants is None

    def require(self, path: str) -> None:
        """Refuse to start a model that cannot be fed.

        Args:
            path: The model's file.

        Raises:
            CaseError: The test has to pass something first.
            Unsupported: It cannot be fed at all.
        """
        if self.wants is not None:
            raise CaseError(f"{Path(path).name}: {self.wants}")
        if self.reason is not None:
            raise Unsupported(f"{Path(path).name}: {self.reason}")

    @property
    def remedy(self) -> str:
        """What to do if the runtime refuses the values that were made; empty if none of them can be the reason."""
        if not self.indices:
            return ""
        from pytest_devperf.inputs.array import INDEX_HIGH

        given = ", ".join(f"{name!r}: array" for name in self.indices)
        return f"its integer inputs were made, from 0 to {INDEX_HIGH - 1}; out of range? pass inputs={{{given}}}"


def named_sizes(slot: Slot) -> tuple[int | str, ...]:
    """Give every open dimension a name that `dims=` can use: its own, or `input.axis` where it has none.

    >>> named_sizes(Slot(name="x", dtype="float32", shape=("batch", 576, None)))
    ('batch', 576, 'x.2')
    """
    return tuple(f"{slot.name}.{axis}" if size is None else size for axis, size in enumerate(slot.shape or ()))


def pinned_shape(slot: Slot, dims: Mapping[str, int]) -> tuple[int, ...] | None:
    """Fill a slot's symbolic sizes in; None if its shape is not known or a size stays open."""
    if slot.shape is None or open_sizes(slot, dims):
        return None
    return tuple(dims[size] if isinstance(size, str) else size for size in named_sizes(slot))


def open_sizes(slot: Slot, dims: Mapping[str, int]) -> tuple[str, ...]:
    """Name the sizes of a slot that stay open."""
    return tuple(size for size in named_sizes(slot) if isinstance(size, str) and size not in dims)


def make_feed(slots: tuple[Slot, ...], dims: Mapping[str, int], given: Mapping[str, Any] | None) -> Feed:
    """Check what is given and make what is missing.

    Args:
        slots: The model's inputs.
        dims: Sizes of symbolic dimensions.
        given: Arrays by input name; inputs it lacks are made.

    Returns:
        A feed, or the reason why there is none.

    Raises:
        CaseError: An input or dimension is not the model's, or a given array has another type, rank or size.
    """
    given = dict(given or {})
    _check_names(slots, dims, given)
    open_slots = [slot for slot in slots if slot.name not in given]
    for slot in open_slots:
        if slot.dtype not in ITEM_BYTES:
            return Feed(reason=f"input {slot.name!r} is of type {slot.dtype}, which cannot be fed")
    shapes = {slot.name: pinned_shape(slot, dims) for slot in open_slots}
    known = {name: shape for name, shape in shapes.items() if shape is not None}
    wants = _wants(open_slots, dims) or _too_large(slots, known)
    if wants is not None:
        return Feed(wants=wants)
    arrays = {}
    for index, slot in enumerate(slots):
        if slot.name in given:
            arrays[slot.name] = checked(slot, given[slot.name], dims)
        else:
            arrays[slot.name] = made(slot.dtype, known[slot.name], seed=index)
    return Feed(arrays=arrays, indices=tuple(slot.name for slot in open_slots if slot.dtype in INDEX_TYPES))


def _wants(slots: Sequence[Slot], dims: Mapping[str, int]) -> str | None:
    """Say what a test has to pass for inputs that it did not give: every open size at once, or an array."""
    for slot in slots:
        if slot.shape is None:
            return f"input {slot.name!r} has no shape; pass inputs={{{slot.name!r}: array}}"
    sizes = tuple(dict.fromkeys(size for slot in slots for size in open_sizes(slot, dims)))
    if not sizes:
        return None
    several = len(sizes) > 1
    named = ", ".join(map(repr, sizes))
    wanted = ", ".join(f"{size!r}: N" for size in sizes)
    return (
        f"dimension{'s' if several else ''} {named} {'have' if several else 'has'} no fixed size; "
        f"pass dims={{{wanted}}}"
    )


def made(dtype: str, shape: tuple[int, ...], *, seed: int) -> np.ndarray[Any, Any]:
    """Make the values of one input; integers are small, so that they are valid indices."""
    import numpy as np

    if dtype == "string":
        return np.full(shape, TEXT, dtype=object)
    from pytest_devperf.inputs import tensor

    return np.ascontiguousarray(tensor(shape, dtype, seed=seed)).reshape(shape)


def checked(slot: Slot, value: Any, dims: Mapping[str, int]) -> np.ndarray[Any, Any]:  # noqa: ANN401 - whatever a test passes
    """Take a given array as it is, or say what was expected: a silent cast would be another workload.

    Raises:
        CaseError: It has another type, rank or size.
    """
    import numpy as np

    array = np.asarray(value)
    if slot.dtype == "string" and array.dtype.kind in "UO":
        array = array.astype(object)
    elif array.dtype.name != slot.dtype:
        _refuse(slot, array)
    if slot.shape is not None:
        fixed = [dims.get(size) if isinstance(size, str) else size for size in named_sizes(slot)]
        if len(fixed) != array.ndim:
            _refuse(slot, array)
        if any(size not in (None, there) for size, there in zip(fixed, array.shape, strict=True)):
            _refuse(slot, array)
    return np.ascontiguousarray(array).reshape(array.shape)


def format_slot(slot: Slot) -> str:
    """Write what an input expects: `x float32 [batch, 576]`.

    >>> format_slot(Slot(name="x", dtype="float32", shape=("batch", 576, None)))
    'x float32 [batch, 576, x.2]'
    """
    if slot.shape is None:
        return f"{slot.name} {slot.dtype}"
    return f"{slot.name} {slot.dtype} [{', '.join(map(str, named_sizes(slot)))}]"


def _refuse(slot: Slot, array: np.ndarray[Any, Any]) -> NoReturn:
    raise CaseError(
        f"input {slot.name!r} was given as {array.dtype.name} {list(array.shape)}", f"expected {format_slot(slot)}"
    )


def _check_names(slots: tuple[Slot, ...], dims: Mapping[str, int], given: Mapping[str, Any]) -> None:
    expected = ", ".join(map(format_slot, slots))
    for name in given:
        if name not in {slot.name for slot in slots}:
            raise CaseError(f"the model has no input {name!r}", f"it takes {expected}")
    symbols = {size for slot in slots for size in named_sizes(slot) if isinstance(size, str)}
    for name, size in dims.items():
        if name not in symbols:
            raise CaseError(f"the model has no dimension {name!r}", f"it takes {expected}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise CaseError(f"dims[{name!r}] is {shown(size)}", "pass a whole number, 0 or more")


def _too_large(slots: tuple[Slot, ...], shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    bytes_of = {
        slot.name: math.prod(shapes[slot.name]) * ITEM_BYTES[slot.dtype] for slot in slots if slot.name in shapes
    }
    if sum(bytes_of.values()) <= LARGEST_BYTES:
        return None
    largest = max(bytes_of, key=lambda name: bytes_of[name])
    return (
        f"its inputs take {sum(bytes_of.values()) / LARGEST_BYTES:.1f} GiB (the largest is {largest!r}), "
        f"more than 1 GiB; pass smaller dims= or inputs="
    )

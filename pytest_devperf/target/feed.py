"""The inputs of a model: given ones checked, missing ones made, the same in every run and on every target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_devperf.errors import CaseError
from pytest_devperf.target.onnx_file import Slot

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """What a model is fed with."""

    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    """Arrays by input name, in the model's order; empty where the model cannot be fed."""
    reason: str | None = None
    """Why it cannot be fed."""


def named_sizes(slot: Slot) -> tuple[int | str, ...]:
    """Give every open dimension a name that `dims=` can use: its own, or `input.axis` where it has none.

    >>> named_sizes(Slot(name="x", dtype="float32", shape=("batch", 576, None)))
    ('batch', 576, 'x.2')
    """
    return tuple(f"{slot.name}.{axis}" if size is None else size for axis, size in enumerate(slot.shape or ()))


def pinned_shape(slot: Slot, dims: Mapping[str, int]) -> tuple[int, ...] | str:
    """Fill a slot's symbolic sizes in; a text is the reason why one stays open."""
    if slot.dtype not in ITEM_BYTES:
        return f"input {slot.name!r} is of type {slot.dtype}, which cannot be fed"
    if slot.shape is None:
        return f"input {slot.name!r} has no shape; pass inputs={{{slot.name!r}: array}}"
    sizes: list[int] = []
    for size in named_sizes(slot):
        if isinstance(size, str) and size not in dims:
            return f"dimension {size!r} has no fixed size; pass dims={{{size!r}: N}}"
        sizes.append(dims[size] if isinstance(size, str) else size)
    return tuple(sizes)


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
    shapes: dict[str, tuple[int, ...]] = {}
    for slot in slots:
        if slot.name in given:
            continue
        shape = pinned_shape(slot, dims)
        if isinstance(shape, str):
            return Feed(reason=shape)
        shapes[slot.name] = shape
    too_large = _too_large(slots, shapes)
    if too_large is not None:
        return Feed(reason=too_large)
    arrays = {}
    for index, slot in enumerate(slots):
        if slot.name in given:
            arrays[slot.name] = checked(slot, given[slot.name], dims)
        else:
            arrays[slot.name] = made(slot.dtype, shapes[slot.name], seed=index)
    return Feed(arrays=arrays)


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
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise CaseError(f"dims[{name!r}] is {size!r}", "pass a whole number above 0")


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

"""The inputs of a model: given ones are checked, missing ones are generated, the same in every run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.model_file.tensor import TensorSpec
from pytest_devperf.untrusted import shown

if TYPE_CHECKING:
    import numpy as np

LARGEST_BYTES = 1 << 30
"""1 GiB of generated inputs: more means a wrong dimension, and a phone has no room for it."""

STRING_BYTES = 16
"""Size of a short string, only for the limit."""

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
"""Element types of inputs, with their sizes; NumPy has no type for any other."""


INDEX_TYPES = frozenset({"int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"})
"""Types of indices into a table; uint8 mostly contains pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInputs:
    """The inputs of one method of a model, or the reason why there are none."""

    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    """Arrays by input name, in the model's order; empty if the model cannot be run."""
    reason: str | None = None
    """Why inputs cannot be generated, whatever a test passes."""
    wants: str | None = None
    """The arguments that a test has to pass first."""
    indices: tuple[str, ...] = ()
    """Generated integer inputs: a table may be shorter than their values."""

    @property
    def is_ready(self) -> bool:
        """Whether the method can be executed."""
        return self.reason is None and self.wants is None

    def require(self, path: str) -> None:
        """Refuse to start a model without inputs.

        Args:
            path: The model's file.

        Raises:
            CaseError: The test has to pass something first.
            Unsupported: Inputs cannot be generated, whatever the test passes.
        """
        if self.wants is not None:
            raise CaseError(f"{Path(path).name}: {self.wants}")
        if self.reason is not None:
            raise Unsupported(f"{Path(path).name}: {self.reason}")

    @property
    def remedy(self) -> str:
        """The next step if the runtime refuses the generated values; empty if none of them can be the reason."""
        if not self.indices:
            return ""
        from pytest_devperf.inputs.array import INDEX_HIGH

        given = ", ".join(f"{name!r}: array" for name in self.indices)
        return f"its integer inputs were generated, from 0 to {INDEX_HIGH - 1}; out of range? pass inputs={{{given}}}"


def named_sizes(spec: TensorSpec) -> tuple[int | str, ...]:
    """Name every open dimension for `dims=`: by its own name, or `input.axis` if it has none.

    >>> named_sizes(TensorSpec(name="x", dtype="float32", shape=("batch", 576, None)))
    ('batch', 576, 'x.2')
    """
    return tuple(f"{spec.name}.{axis}" if size is None else size for axis, size in enumerate(spec.shape or ()))


def pinned_shape(spec: TensorSpec, dims: Mapping[str, int]) -> tuple[int, ...] | None:
    """Replace symbolic sizes by those of `dims`; None if the shape is not known or a size stays open."""
    if spec.shape is None or open_sizes(spec, dims):
        return None
    return tuple(dims[size] if isinstance(size, str) else size for size in named_sizes(spec))


def open_sizes(spec: TensorSpec, dims: Mapping[str, int]) -> tuple[str, ...]:
    """List the sizes that stay open."""
    return tuple(size for size in named_sizes(spec) if isinstance(size, str) and size not in dims)


def make_inputs(specs: tuple[TensorSpec, ...], dims: Mapping[str, int], given: Mapping[str, Any] | None) -> ModelInputs:
    """Check the given inputs and generate the missing ones.

    Args:
        specs: The model's inputs.
        dims: Sizes of symbolic dimensions.
        given: Arrays by input name; missing inputs are generated.

    Returns:
        The inputs, or the reason why there are none.

    Raises:
        CaseError: The model has no such input or dimension, or a given array has another type, rank or size.
    """
    given = dict(given or {})
    _check_names(specs, dims, given)
    open_specs = [spec for spec in specs if spec.name not in given]
    for spec in open_specs:
        if spec.dtype not in ITEM_BYTES:
            return ModelInputs(reason=f"input {spec.name!r} is of type {spec.dtype}, which is not supported")
    shapes = {spec.name: pinned_shape(spec, dims) for spec in open_specs}
    known = {name: shape for name, shape in shapes.items() if shape is not None}
    wants = _wants(open_specs, dims) or _too_large(specs, known)
    if wants is not None:
        return ModelInputs(wants=wants)
    arrays = {}
    for index, spec in enumerate(specs):
        if spec.name in given:
            arrays[spec.name] = check_array(spec, given[spec.name], dims)
        else:
            arrays[spec.name] = make_array(spec.dtype, known[spec.name], seed=index)
    return ModelInputs(arrays=arrays, indices=tuple(spec.name for spec in open_specs if spec.dtype in INDEX_TYPES))


def _wants(specs: Sequence[TensorSpec], dims: Mapping[str, int]) -> str | None:
    """Describe what a test has to pass for missing inputs: every open size at once, or an array."""
    for spec in specs:
        if spec.shape is None:
            return f"input {spec.name!r} has no shape; pass inputs={{{spec.name!r}: array}}"
    sizes = tuple(dict.fromkeys(size for spec in specs for size in open_sizes(spec, dims)))
    if not sizes:
        return None
    several = len(sizes) > 1
    named = ", ".join(map(repr, sizes))
    wanted = ", ".join(f"{size!r}: N" for size in sizes)
    return (
        f"dimension{'s' if several else ''} {named} {'have' if several else 'has'} no fixed size; "
        f"pass dims={{{wanted}}}"
    )


def make_array(dtype: str, shape: tuple[int, ...], *, seed: int) -> np.ndarray[Any, Any]:
    """Generate the values of one input; integers are small, so that they are valid indices."""
    import numpy as np

    if dtype == "string":
        return np.full(shape, TEXT, dtype=object)
    from pytest_devperf.inputs import tensor

    return np.ascontiguousarray(tensor(shape, dtype, seed=seed)).reshape(shape)


def check_array(spec: TensorSpec, value: Any, dims: Mapping[str, int]) -> np.ndarray[Any, Any]:  # noqa: ANN401 - whatever a test passes
    """Check a given array, and never cast it: a silent cast would change the workload.

    Raises:
        CaseError: It has another type, rank or size.
    """
    import numpy as np

    array = np.asarray(value)
    if spec.dtype == "string" and array.dtype.kind in "UO":
        array = array.astype(object)
    elif array.dtype.name != spec.dtype:
        _refuse(spec, array)
    if spec.shape is not None:
        fixed = [dims.get(size) if isinstance(size, str) else size for size in named_sizes(spec)]
        if len(fixed) != array.ndim:
            _refuse(spec, array)
        if any(size not in (None, there) for size, there in zip(fixed, array.shape, strict=True)):
            _refuse(spec, array)
    return np.ascontiguousarray(array).reshape(array.shape)


def format_spec(spec: TensorSpec) -> str:
    """Format what an input expects: `x float32 [batch, 576]`.

    >>> format_spec(TensorSpec(name="x", dtype="float32", shape=("batch", 576, None)))
    'x float32 [batch, 576, x.2]'
    """
    if spec.shape is None:
        return f"{spec.name} {spec.dtype}"
    return f"{spec.name} {spec.dtype} [{', '.join(map(str, named_sizes(spec)))}]"


def _refuse(spec: TensorSpec, array: np.ndarray[Any, Any]) -> NoReturn:
    raise CaseError(
        f"input {spec.name!r} was given as {array.dtype.name} {list(array.shape)}", f"expected {format_spec(spec)}"
    )


def _check_names(specs: tuple[TensorSpec, ...], dims: Mapping[str, int], given: Mapping[str, Any]) -> None:
    expected = ", ".join(map(format_spec, specs))
    for name in given:
        if name not in {spec.name for spec in specs}:
            raise CaseError(f"the model has no input {name!r}", f"it takes {expected}")
    symbols = {size for spec in specs for size in named_sizes(spec) if isinstance(size, str)}
    for name, size in dims.items():
        if name not in symbols:
            raise CaseError(f"the model has no dimension {name!r}", f"it takes {expected}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise CaseError(f"dims[{name!r}] is {shown(size)}", "pass a whole number, 0 or more")


def _too_large(specs: tuple[TensorSpec, ...], shapes: Mapping[str, tuple[int, ...]]) -> str | None:
    bytes_of = {
        spec.name: math.prod(shapes[spec.name]) * ITEM_BYTES[spec.dtype] for spec in specs if spec.name in shapes
    }
    if sum(bytes_of.values()) <= LARGEST_BYTES:
        return None
    largest = max(bytes_of, key=lambda name: bytes_of[name])
    return (
        f"its inputs take {sum(bytes_of.values()) / LARGEST_BYTES:.1f} GiB (the largest is {largest!r}), "
        f"more than 1 GiB; pass smaller dims= or inputs="
    )

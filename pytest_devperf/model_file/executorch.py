"""The description that a .pte file contains, read without any runtime.

Source: the ExecuTorch project's `schema/program.fbs` and `scalar_type.fbs` (numbers of fields and types, the identifier
`ET12`; earlier files have another number after `ET`).
"""

from __future__ import annotations

from pytest_devperf.model_file.flatbuffer import Table, read_root
from pytest_devperf.model_file.method import Method, read_methods
from pytest_devperf.model_file.tensor import TensorSpec

STAMP = b"ET"

ELEMENT_TYPES = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    11: "bool",
    15: "bfloat16",
    27: "uint16",
    28: "uint32",
    29: "uint64",
}
"""`ScalarType`, with NumPy's names if NumPy has the type."""

PLANS = 1
"""Field of `Program`."""

NAME, VALUES, INPUTS, OUTPUTS, DELEGATES = 0, 2, 3, 4, 7
"""Fields of `ExecutionPlan`."""

BACKEND = 0
"""Field of `BackendDelegate`: the backend that runs it."""

KERNELS = "kernels"
"""Backend of a method that was not lowered to any."""

KIND, VALUE = 0, 1
"""Fields of `EValue`: the type within the union, and the value."""

TENSOR = 5
"""Place of `Tensor` in the union `KernelTypes`, which begins at 1."""

KINDS = ("none", "null", "int", "bool", "double", "tensor", "string", "list of int", "list of double", "list of bool")
"""Names of the first types of that union; the types after them are lists of tensors."""

SCALAR_TYPE, SIZES, DIM_ORDER, DYNAMISM = 0, 2, 3, 8
"""Fields of `Tensor`."""

UNBOUND = 2
"""`TensorShapeDynamism.DYNAMIC_UNBOUND`: the sizes in the file have no meaning."""


def parse_executorch(data: bytes | memoryview) -> tuple[Method, ...]:
    """Parse the methods of a .pte file: its execution plans.

    Sizes of dynamic tensors are their upper bounds, which runners also use by default.

    Raises:
        ValueError: It is not such a file.
    """
    program = read_root(data, STAMP)
    return tuple(_method(place, plan) for place, plan in enumerate(program.tables(PLANS)))


def read_executorch(path: str) -> tuple[Method, ...]:
    """Read the methods of a file.

    Raises:
        CaseError: There is no such file, or it is not an ExecuTorch program.
    """
    return read_methods(path, parse_executorch, kind="ExecuTorch program")


def _method(place: int, plan: Table) -> Method:
    values = plan.tables(VALUES)
    inputs = plan.numbers(INPUTS, "i") or ()
    outputs = plan.numbers(OUTPUTS, "i") or ()
    if any(not 0 <= index < len(values) for index in (*inputs, *outputs)):
        raise ValueError("an input or output refers to a value that does not exist")
    reasons = [why for number, index in enumerate(inputs) if (why := _unfit(number, values[index])) is not None]
    return Method(
        name=plan.text(NAME) or f"method {place}",
        place=place,
        inputs=tuple(_spec(f"input{number}", values[index]) for number, index in enumerate(inputs)),
        outputs=tuple(_spec(f"output{number}", values[index]) for number, index in enumerate(outputs)),
        input_places=inputs,
        output_places=outputs,
        backends=tuple(dict.fromkeys(each.text(BACKEND) for each in plan.tables(DELEGATES))),
        reason=reasons[0] if reasons else None,
    )


def backends_of(methods: tuple[Method, ...]) -> str:
    """Name the backends that methods were lowered to; `kernels` if there is none."""
    return ",".join(dict.fromkeys(name for method in methods for name in method.backends)) or KERNELS


def _spec(name: str, value: Table) -> TensorSpec:
    """Describe an input or output; in a program they have numbers, not names."""
    kind = value.number(KIND, "B")
    tensor = value.table(VALUE)
    if kind != TENSOR or tensor is None:
        return TensorSpec(name=name, dtype=KINDS[kind] if kind < len(KINDS) else "list of tensors", shape=None)
    element = tensor.number(SCALAR_TYPE, "b")
    sizes: tuple[int | None, ...] = tensor.numbers(SIZES, "i") or ()
    if tensor.number(DYNAMISM, "b") == UNBOUND:
        sizes = (None,) * len(sizes)
    return TensorSpec(name=name, dtype=ELEMENT_TYPES.get(element, f"element type {element}"), shape=sizes)


def _unfit(number: int, value: Table) -> str | None:
    """Return why an input cannot be used."""
    spec = _spec(f"input{number}", value)
    if spec.shape is None:
        return f"input {spec.name!r} is of type {spec.dtype}, and only tensors are supported"
    tensor = value.table(VALUE)
    order = () if tensor is None else tensor.numbers(DIM_ORDER, "B") or ()
    if list(order) != sorted(order):
        return f"input {spec.name!r} has the memory order {list(order)}, and only plain order is supported"
    return None

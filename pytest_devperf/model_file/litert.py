"""The description that a .tflite file contains, read without any runtime.

Source: the LiteRT project's `schema.fbs` (numbers of fields and types, the identifier `TFL3`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_devperf.model_file.flatbuffer import Table, read_root
from pytest_devperf.model_file.method import MAIN, Method, read_methods
from pytest_devperf.model_file.tensor import Size, TensorSpec
from pytest_devperf.tool.extract import distinct

STAMP = b"TFL3"

ELEMENT_TYPES = [
    "float32",
    "float16",
    "int32",
    "uint8",
    "int64",
    "string",
    "bool",
    "int16",
    "complex64",
    "int8",
    "float64",
    "complex128",
    "uint64",
    "resource",
    "variant",
    "uint32",
    "uint16",
    "int4",
    "bfloat16",
    "int2",
    "uint4",
    "float8_e4m3fn",
    "float8_e5m2",
]
"""`TensorType` in the schema's order, with NumPy's names if NumPy has the type."""

SUBGRAPHS, SIGNATURES = 2, 7
"""Fields of `Model`."""

TENSORS, INPUTS, OUTPUTS = 0, 1, 2
"""Fields of `SubGraph`."""

SHAPE, TYPE, NAME, SIGNATURE_SHAPE, HAS_RANK = 0, 1, 3, 7, 8
"""Fields of `Tensor`."""

SIGNATURE_INPUTS, SIGNATURE_OUTPUTS, SIGNATURE_KEY, SIGNATURE_SUBGRAPH = 0, 1, 2, 4
"""Fields of `SignatureDef`."""

MAP_NAME, MAP_TENSOR = 0, 1
"""Fields of `TensorMap`."""


def parse_litert(data: bytes | memoryview) -> tuple[Method, ...]:
    """Parse the methods of a .tflite file: its signatures, or the main subgraph if it has none.

    Raises:
        ValueError: It is not such a file.
    """
    model = read_root(data, STAMP)
    subgraphs = model.tables(SUBGRAPHS)
    if not subgraphs:
        raise ValueError("it has no subgraph")
    signatures = [_signature(table, subgraphs) for table in model.tables(SIGNATURES)]
    return tuple(signatures) or (_main(subgraphs[0]),)


def read_litert(path: str) -> tuple[Method, ...]:
    """Read the methods of a file.

    Raises:
        CaseError: There is no such file, or it is not a LiteRT model.
    """
    return read_methods(path, parse_litert, kind="LiteRT model")


def _main(subgraph: Table) -> Method:
    return _method(MAIN, 0, subgraph, {}, {})


def _signature(table: Table, subgraphs: tuple[Table, ...]) -> Method:
    place = table.number(SIGNATURE_SUBGRAPH, "I")
    if place >= len(subgraphs):
        raise ValueError("a signature refers to a subgraph that does not exist")
    called = [
        {each.number(MAP_TENSOR, "I"): each.text(MAP_NAME) for each in table.tables(names)}
        for names in (SIGNATURE_INPUTS, SIGNATURE_OUTPUTS)
    ]
    return _method(table.text(SIGNATURE_KEY) or MAIN, place, subgraphs[place], *called)


def _method(
    name: str, place: int, subgraph: Table, inputs_called: dict[int, str], outputs_called: dict[int, str]
) -> Method:
    """Read a method; its inputs have the subgraph's order, and the signature's names if it has any."""
    tensors = subgraph.tables(TENSORS)
    inputs = [index for index in subgraph.numbers(INPUTS, "i") or () if index >= 0]
    outputs = [index for index in subgraph.numbers(OUTPUTS, "i") or () if index >= 0]
    if any(index >= len(tensors) for index in (*inputs, *outputs)):
        raise ValueError("an input or output refers to a tensor that does not exist")
    return Method(
        name=name,
        place=place,
        inputs=_specs([(tensors[index], inputs_called.get(index)) for index in inputs]),
        outputs=_specs([(tensors[index], outputs_called.get(index)) for index in outputs]),
        input_places=tuple(inputs),
        output_places=tuple(outputs),
    )


def _specs(tensors: Sequence[tuple[Table, str | None]]) -> tuple[TensorSpec, ...]:
    """Describe tensors by a signature's names, or their own; a stripped tensor gets a number."""
    names = distinct(called or tensor.text(NAME) for tensor, called in tensors)
    return tuple(_spec(name, tensor) for name, (tensor, _) in zip(names, tensors, strict=True))


def _spec(name: str, tensor: Table) -> TensorSpec:
    kind = tensor.number(TYPE, "b")
    return TensorSpec(
        name=name,
        dtype=ELEMENT_TYPES[kind] if 0 <= kind < len(ELEMENT_TYPES) else f"element type {kind}",
        shape=_shape(tensor),
    )


def _shape(tensor: Table) -> tuple[Size, ...]:
    """Return the shape signature, in which -1 marks open dimensions, or else the shape, which has 1 in their place.

    A tensor without either is a scalar: exporters more often omit a scalar's rank than they mean an unknown one.
    """
    sizes = tensor.numbers(SIGNATURE_SHAPE, "i") or tensor.numbers(SHAPE, "i") or ()
    return tuple(None if size < 0 else size for size in sizes)

"""The description that an ONNX file contains, read without any runtime.

A session has the same information, but its creation is the load that is to be measured: it fills caches and leaves
memory behind. Therefore the few messages that matter are parsed from the protobuf wire format.

Source: onnx/onnx.proto3 of the ONNX project (field numbers), protobuf's "Encoding" page (wire format).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.model_file.content import map_model
from pytest_devperf.model_file.inputs import make_inputs
from pytest_devperf.model_file.method import MAIN, Method, ModelMethods
from pytest_devperf.model_file.tensor import Size, TensorSpec

ELEMENT_TYPES: Mapping[int, str] = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
}
"""`TensorProto.DataType`, with NumPy's names if NumPy has the type."""

CONTAINER_TYPES: Mapping[int, str] = {4: "sequence", 5: "map", 8: "sparse tensor", 9: "optional", 7: "opaque"}
"""Fields of `TypeProto` that are not plain tensors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Inputs and outputs of a model, and the files that contain its weights."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    external: tuple[str, ...] = ()
    """Names of external data files, relative to the model's folder, sorted."""


Field = tuple[int, Union[int, memoryview]]


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the top bit is set if more bytes follow
            return value, at
        shift += 7
        if shift > 63:  # noqa: PLR2004 - a varint holds 64 bits
            raise ValueError("a varint that does not end")


def _fields(data: memoryview) -> Iterator[Field]:
    """Iterate over the fields of a message: numbers for varints, views for everything with a length."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        size, at = _varint(data, at) if wire == 2 else ({1: 8, 5: 4}.get(wire, -1), at)  # noqa: PLR2004 - wire types
        if size < 0 or at + size > len(data):
            raise ValueError("not in protobuf's wire format, or cut off")
        yield number, data[at : at + size]
        at += size


def _messages(data: memoryview, wanted: int) -> Iterator[memoryview]:
    return (value for number, value in _fields(data) if number == wanted and isinstance(value, memoryview))


def _text(data: memoryview, wanted: int) -> str:
    return next((bytes(value).decode() for value in _messages(data, wanted)), "")


def _number(data: memoryview, wanted: int) -> int | None:
    return next((value for number, value in _fields(data) if number == wanted and isinstance(value, int)), None)


def _size(dimension: memoryview) -> Size:
    """Read `TensorShapeProto.Dimension`: dim_value = 1, dim_param = 2."""
    value = _number(dimension, 1)
    if value is not None and value < 1 << 63:  # exporters write negative sizes for "unknown"
        return value
    return _text(dimension, 2) or None


def _spec(value_info: memoryview) -> TensorSpec:
    """Read `ValueInfoProto`: name = 1, type = 2; `TypeProto.Tensor`: elem_type = 1, shape = 2."""
    name = _text(value_info, 1)
    for kind in _messages(value_info, 2):
        for number, value in _fields(kind):
            if number == 1 and isinstance(value, memoryview):
                shapes = [tuple(map(_size, _messages(shape, 1))) for shape in _messages(value, 2)]
                element = _number(value, 1) or 0
                return TensorSpec(
                    name=name,
                    dtype=ELEMENT_TYPES.get(element, f"element type {element}"),
                    shape=shapes[0] if shapes else None,
                )
            if number in CONTAINER_TYPES:
                return TensorSpec(name=name, dtype=CONTAINER_TYPES[number], shape=None)
    return TensorSpec(name=name, dtype="untyped", shape=None)


TENSOR = "tensor"
CHILDREN: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: TENSOR, 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: TENSOR, 6: "graph", 10: TENSOR, 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: TENSOR, 2: TENSOR},
    TENSOR: {},
}
"""Messages in which tensors, and so external data, can occur: message -> field number -> message."""


MOST_LEVELS = 100
"""Nesting of messages that protobuf's own readers accept. Source: protobuf, CodedInputStream."""


def _tensors(data: memoryview) -> Iterator[memoryview]:
    open_messages = [("model", _fields(data))]
    while open_messages:
        message, fields = open_messages[-1]
        number, value = next(fields, (None, None))
        if number is None:
            open_messages.pop()
            continue
        child = CHILDREN[message].get(number)
        if child is None or not isinstance(value, memoryview):
            continue
        if child == TENSOR:
            yield value
            continue
        open_messages.append((child, _fields(value)))
        if len(open_messages) > MOST_LEVELS:
            raise ValueError(f"its graphs are nested more than {MOST_LEVELS} levels deep")


def _external(data: memoryview) -> Iterator[str]:
    """Read `TensorProto`: external_data = 13, entries of key = 1 and value = 2."""
    for tensor in _tensors(data):
        for entry in _messages(tensor, 13):
            if _text(entry, 1) == "location":
                yield _text(entry, 2)


def parse_schema(data: bytes | memoryview) -> Schema:
    """Parse inputs, outputs and external files from a model's bytes.

    Raises:
        ValueError: They are not an ONNX model.
    """
    view = memoryview(data)
    try:
        graph = next(_messages(view, 7), None)
        if graph is None:
            raise ValueError("no graph in it")
        constants = {_text(tensor, 8) for tensor in _messages(graph, 5)}
        inputs = tuple(spec for spec in map(_spec, _messages(graph, 11)) if spec.name not in constants)
        outputs = tuple(map(_spec, _messages(graph, 12)))
        if len({spec.name for spec in inputs}) < len(inputs):
            raise ValueError("two of its inputs have the same name")
        return Schema(inputs=inputs, outputs=outputs, external=tuple(sorted(set(_external(view)))))
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("not in protobuf's wire format, or cut off") from error


def read_schema(path: str) -> Schema:
    """Read the schema of a model file.

    Raises:
        CaseError: There is no such file, or it is not an ONNX model.
    """
    data = map_model(path)
    try:
        return parse_schema(data)
    except ValueError as error:
        raise CaseError(f"{path} is not a valid ONNX model: {error}", "export it again") from error


def prepare_onnx(model: Model) -> tuple[Schema, ModelMethods]:
    """Read a model's schema, and generate the inputs of its only method.

    Raises:
        CaseError: There is no such file, or an argument does not match the model.
    """
    if model.method != MAIN:
        raise CaseError(f"{Path(model.path).name} has no method {model.method!r}", f"an ONNX model only has {MAIN!r}")
    if model.provider_options is not None and len(model.provider_options) != len(model.providers or ()):
        raise CaseError("provider_options need one mapping per provider", f"providers are {model.providers}")
    schema = read_schema(model.path)
    method = Method(name=MAIN, inputs=schema.inputs, outputs=schema.outputs)
    inputs = make_inputs(schema.inputs, model.dims, model.inputs)
    return schema, ModelMethods(methods=(method,), inputs={MAIN: inputs})

"""What an ONNX file says about itself, read without any runtime.

A session would tell the same, but making one is the load that is to be measured: it fills caches and
leaves memory behind. So the few messages that matter are read from the protobuf wire format.

Source: onnx/onnx.proto3 of the ONNX project (field numbers), protobuf's "Encoding" page (wire format).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from pytest_devperf.errors import CaseError
from pytest_devperf.model_file.content import map_model, weights_beside

Size = Union[int, str, None]
"""A fixed size, the name of a symbolic one, or neither."""

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
"""`TensorProto.DataType`, in NumPy's names where NumPy has the type."""

CONTAINER_TYPES: Mapping[int, str] = {4: "sequence", 5: "map", 8: "sparse tensor", 9: "optional", 7: "opaque"}
"""Fields of `TypeProto` that are no plain tensor."""

BLOCK_BYTES = 1 << 20
"""Files are hashed in blocks of 1 MiB: a model may be larger than memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One input or output of a model."""

    name: str
    dtype: str
    """NumPy's name of the element type, `string`, or the word for what is no plain tensor (`sequence`)."""
    shape: tuple[Size, ...] | None
    """Sizes by dimension; None where not even the rank is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Inputs and outputs of a model, and the files its weights lie in."""

    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    external: tuple[str, ...] = ()
    """Names of external data files, relative to the model's folder, sorted."""


Field = tuple[int, Union[int, memoryview]]


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the top bit says that more follows
            return value, at
        shift += 7
        if shift > 63:  # noqa: PLR2004 - a varint holds 64 bits
            raise ValueError("a varint that does not end")


def _fields(data: memoryview) -> Iterator[Field]:
    """Walk the fields of a message: numbers for varints, views for everything with a length."""
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
    if value is not None and value < 1 << 63:  # negative sizes are exporters' way of saying "unknown"
        return value
    return _text(dimension, 2) or None


def _slot(value_info: memoryview) -> Slot:
    """Read `ValueInfoProto`: name = 1, type = 2; `TypeProto.Tensor`: elem_type = 1, shape = 2."""
    name = _text(value_info, 1)
    for kind in _messages(value_info, 2):
        for number, value in _fields(kind):
            if number == 1 and isinstance(value, memoryview):
                shapes = [tuple(map(_size, _messages(shape, 1))) for shape in _messages(value, 2)]
                element = _number(value, 1) or 0
                return Slot(
                    name=name,
                    dtype=ELEMENT_TYPES.get(element, f"element type {element}"),
                    shape=shapes[0] if shapes else None,
                )
            if number in CONTAINER_TYPES:
                return Slot(name=name, dtype=CONTAINER_TYPES[number], shape=None)
    return Slot(name=name, dtype="untyped", shape=None)


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
"""Where tensors, and so external data, can lie: message -> field number -> message."""


MOST_LEVELS = 100
"""Levels of messages in one another that protobuf's own readers take. Source: protobuf, CodedInputStream."""


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
    """Read inputs, outputs and external files from a model's bytes.

    Raises:
        ValueError: They are no ONNX model.
    """
    view = memoryview(data)
    try:
        graph = next(_messages(view, 7), None)
        if graph is None:
            raise ValueError("no graph in it")
        constants = {_text(tensor, 8) for tensor in _messages(graph, 5)}
        inputs = tuple(slot for slot in map(_slot, _messages(graph, 11)) if slot.name not in constants)
        outputs = tuple(map(_slot, _messages(graph, 12)))
        if len({slot.name for slot in inputs}) < len(inputs):
            raise ValueError("two of its inputs have one name")
        return Schema(inputs=inputs, outputs=outputs, external=tuple(sorted(set(_external(view)))))
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("not in protobuf's wire format, or cut off") from error


def read_schema(path: str) -> Schema:
    """Read the schema of a model file.

    Raises:
        CaseError: There is no such file, or it is no ONNX model.
    """
    data = map_model(path)
    try:
        return parse_schema(data)
    except ValueError as error:
        raise CaseError(f"{path} is no ONNX model: {error}", "export it again") from error


def model_sha256(path: str, external: tuple[str, ...] = ()) -> str:
    """Hash a model's bytes; external data files follow in the order of their names.

    Without external data it is what `sha256sum` prints for the file.

    Raises:
        CaseError: One of the files is missing, is no regular file, or lies outside the model's folder.
    """
    digest = hashlib.sha256()
    for name, part in {"": Path(path), **weights_beside(path, external)}.items():
        if name:
            digest.update(f"\0{name}\0".encode())
        try:
            with part.open("rb") as file:
                while block := file.read(BLOCK_BYTES):
                    digest.update(block)
        except OSError as error:
            raise CaseError(f"cannot read {part}, a part of model {path}: {error.strerror}", "put it beside") from error
    return digest.hexdigest()

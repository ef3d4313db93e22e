"""Write tiny .tflite, .pte and .onnx files for tests, by the field numbers of their schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

Field = tuple[str, Any]
"""How a field is written: a struct letter and a number, or a word (`text`, `table`, `tables`, `numbers:i`)."""

FLOAT32, TFLITE_ADD = 0, 0
"""`TensorType.FLOAT32` and `BuiltinOperator.ADD` of the LiteRT schema."""

PTE_FLOAT, PTE_LONG = 6, 4
"""`ScalarType.FLOAT` and `.LONG` of the ExecuTorch schema."""

FT = Mapping[int, Field]


def pack(root: FT, stamp: bytes) -> bytes:
    """Write a FlatBuffer from nested tables: field number -> field."""
    flatbuffers = pytest.importorskip("flatbuffers")
    builder = flatbuffers.Builder(1024)
    builder.Finish(_table(builder, root), stamp)
    return bytes(builder.Output())


def _table(builder: Any, fields: FT) -> int:
    ready = {number: (kind, _below(builder, kind, value)) for number, (kind, value) in fields.items()}
    builder.StartObject(max(fields, default=-1) + 1)
    scalars: dict[str, Callable[..., None]] = {
        "b": builder.PrependInt8Slot,
        "B": builder.PrependUint8Slot,
        "i": builder.PrependInt32Slot,
        "I": builder.PrependUint32Slot,
        "q": builder.PrependInt64Slot,
    }
    for number, (kind, value) in ready.items():
        if kind in scalars:
            scalars[kind](number, value, 0)
        else:
            builder.PrependUOffsetTRelativeSlot(number, value, 0)
    return builder.EndObject()


def _below(builder: Any, kind: str, value: Any) -> Any:
    if kind == "text":
        return builder.CreateString(value)
    if kind == "table":
        return _table(builder, value)
    if kind == "tables":
        return _vector(builder, 4, [_table(builder, each) for each in value], builder.PrependUOffsetTRelative)
    if kind.startswith("numbers:"):
        letter = kind[-1]
        size = {"i": 4, "I": 4, "q": 8, "B": 1}[letter]
        put = {
            "i": builder.PrependInt32,
            "I": builder.PrependUint32,
            "q": builder.PrependInt64,
            "B": builder.PrependByte,
        }
        return _vector(builder, size, value, put[letter])
    return value


def _vector(builder: Any, size: int, items: Sequence[Any], put: Callable[[Any], None]) -> int:
    builder.StartVector(size, len(items), max(size, 4))
    for item in reversed(items):
        put(item)
    return builder.EndVector()


def shared_signatures(count: int) -> bytes:
    """Write a .tflite file of 8 bytes for each signature, all of which are one that lists one input as often."""
    flatbuffers = pytest.importorskip("flatbuffers")
    builder = flatbuffers.Builder(1024)
    subgraph = _table(builder, {0: ("tables", [{3: ("text", "x")}]), 1: ("numbers:i", [0]), 2: ("numbers:i", [0])})
    called = _table(builder, {0: ("text", "x"), 1: ("I", 0)})
    inputs = _vector(builder, 4, [called] * count, builder.PrependUOffsetTRelative)
    key = builder.CreateString("s")
    builder.StartObject(5)
    builder.PrependUOffsetTRelativeSlot(0, inputs, 0)
    builder.PrependUOffsetTRelativeSlot(2, key, 0)
    signature = builder.EndObject()
    signatures = _vector(builder, 4, [signature] * count, builder.PrependUOffsetTRelative)
    subgraphs = _vector(builder, 4, [subgraph], builder.PrependUOffsetTRelative)
    builder.StartObject(8)
    builder.PrependUOffsetTRelativeSlot(2, subgraphs, 0)
    builder.PrependUOffsetTRelativeSlot(7, signatures, 0)
    builder.Finish(builder.EndObject(), b"TFL3")
    return bytes(builder.Output())


def message(*fields: tuple[int, bytes | int]) -> bytes:
    """Write a protobuf message: field numbers with numbers, or with bytes (texts and messages)."""
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(varint(number << 3) + varint(value))
        else:
            parts.append(varint(number << 3 | 2) + varint(len(value)) + value)
    return b"".join(parts)


def varint(value: int) -> bytes:
    """Write a number in groups of seven bits, the lowest first."""
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*groups, value))


def onnx(*, inputs: Sequence[str] = ("x",), external: Sequence[str] = (), levels: int = 0) -> bytes:
    """Write an ONNX model of float32 [1, 3] inputs; no node in it runs.

    Args:
        inputs: Their names.
        external: Locations of external data, one tensor each.
        levels: Number of nested graphs.
    """

    def tensor(location: str) -> bytes:
        entry = message((1, b"location"), (2, location.encode()))
        return message((1, 3), (2, 1), (8, location.encode()), (13, entry), (14, 1))

    def value(name: str) -> bytes:
        shape = message(*((1, message((1, size))) for size in (1, 3)))
        return message((1, name.encode()), (2, message((1, message((1, 1), (2, shape))))))

    graph = message(*((5, tensor(location)) for location in external))
    for _ in range(levels):
        graph = message((1, message((5, message((6, graph))))))
    graph += message(*((11, value(name)) for name in inputs), (12, value("y")))
    return message((1, 8), (7, graph))


def tflite(*, signatures: Sequence[str] = (), open_rank: int = 0) -> bytes:
    """Write a model y = x + x of float32 [1, 3], one subgraph for each signature.

    Args:
        signatures: Names of its methods; none: one subgraph without a signature.
        open_rank: How many leading dimensions are open.
    """

    def tensor(name: str) -> FT:
        sizes = [1, 3]
        opened = [-1 if axis < open_rank else size for axis, size in enumerate(sizes)]
        return {0: ("numbers:i", sizes), 1: ("b", FLOAT32), 3: ("text", name), 7: ("numbers:i", opened)}

    def subgraph(name: str) -> FT:
        operator: FT = {1: ("numbers:i", [0, 0]), 2: ("numbers:i", [1]), 3: ("B", 11), 4: ("table", {})}
        return {
            0: ("tables", [tensor(f"{name}_x:0"), tensor(f"{name}_y:0")]),
            1: ("numbers:i", [0]),
            2: ("numbers:i", [1]),
            3: ("tables", [operator]),
            4: ("text", name),
        }

    def signature(index: int, name: str) -> FT:
        called: FT = {0: ("text", "x"), 1: ("I", 0)}
        gives: FT = {0: ("text", "y"), 1: ("I", 1)}
        return {0: ("tables", [called]), 1: ("tables", [gives]), 2: ("text", name), 4: ("I", index)}

    root: dict[int, Field] = {
        0: ("I", 3),
        1: ("tables", [{0: ("b", TFLITE_ADD), 2: ("i", 1), 3: ("i", TFLITE_ADD)}]),
        2: ("tables", [subgraph(name) for name in signatures or ["main"]]),
        4: ("tables", [{}]),
    }
    if signatures:
        root[7] = ("tables", [signature(index, name) for index, name in enumerate(signatures)])
    return pack(root, b"TFL3")


def pte(*, methods: Sequence[str] = ("forward",), dynamism: int = 0, with_int: bool = False) -> bytes:
    """Write a program out = a + b of float32 [2, 3], one plan for each method.

    Args:
        methods: Their names.
        dynamism: `TensorShapeDynamism` of the inputs.
        with_int: Whether a further input is a plain integer.
    """

    def tensor(offset: int, shape_dynamism: int = 0) -> FT:
        place: FT = {0: ("I", 1), 1: ("I", offset)}
        fields: FT = {
            0: ("b", PTE_FLOAT),
            2: ("numbers:i", [2, 3]),
            3: ("numbers:B", [0, 1]),
            6: ("table", place),
            8: ("b", shape_dynamism),
        }
        return {0: ("B", 5), 1: ("table", fields)}

    def plan(name: str) -> FT:
        values: list[FT] = [tensor(0, dynamism), tensor(32, dynamism), {0: ("B", 2), 1: ("table", {0: ("q", 1)})}]
        call: FT = {0: ("i", 0), 1: ("numbers:i", [0, 1, 2, 3, 3])}
        instruction: FT = {0: ("B", 1), 1: ("table", call)}
        taken = [0, 1, 2] if with_int else [0, 1]
        chain: FT = {0: ("numbers:i", taken), 1: ("numbers:i", [3]), 2: ("tables", [instruction])}
        return {
            0: ("text", name),
            1: ("table", {0: ("text", ""), 1: ("text", "")}),
            2: ("tables", [*values, tensor(64)]),
            3: ("numbers:i", taken),
            4: ("numbers:i", [3]),
            5: ("tables", [chain]),
            6: ("tables", [{0: ("text", "aten::add"), 1: ("text", "out")}]),
            7: ("tables", []),
            8: ("numbers:q", [0, 128]),
        }

    root: dict[int, Field] = {
        0: ("I", 0),
        1: ("tables", [plan(name) for name in methods]),
        3: ("tables", []),
        4: ("tables", []),
        5: ("table", {0: ("I", 0), 1: ("numbers:q", [0])}),
    }
    return pack(root, b"ET12")

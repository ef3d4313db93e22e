"""Traces of onnxruntime, and the alignment of two models' nodes."""

from __future__ import annotations

import json

import pytest

from pytest_devperf.explain.cause import MeasuredChange, explain
from pytest_devperf.explain.nodes import align, read_trace
from pytest_devperf.explain.profile import Profile, Row


def kernel(name: str, op: str, at: int, took: int, shapes: tuple = (), **arguments) -> dict:
    given = {"op_name": op, "node_index": "3", "input_type_shape": [{"float": list(shape)} for shape in shapes]}
    return {"cat": "Node", "name": f"{name}_kernel_time", "ts": at, "dur": took, "args": {**given, **arguments}}


def test_a_trace_becomes_a_row_for_each_node() -> None:
    run = {"cat": "Session", "name": "model_run", "ts": 0, "dur": 99}
    events = [
        *[run] * 3,
        *[kernel("/c/Relu_out_nchwc", "Conv", 100 * at, 10 + at, ((1, 3, 8, 8),)) for at in range(3)],
        *[kernel("Add_7", "Add", 100 * at + 50, 5) for at in range(3)],
        *[kernel("Add_9", "Add", 100 * at + 60, 6, provider="CUDAExecutionProvider") for at in range(3)],
        {"cat": "Node", "name": "Add_7_fence_before", "ts": 3, "dur": 1, "args": {}},
    ]
    assert read_trace(json.dumps(events)) == (
        Row("Conv /c/Relu_out", 1.0, (11_000.0,), detail="1x3x8x8"),
        Row("Add", 1.0, (5_000.0,)),
        Row("Add#2", 1.0, (6_000.0,), detail="CUDAExecutionProvider"),
    )


def test_the_nodes_within_a_branch_are_not_counted_twice() -> None:
    events = [kernel("If_1", "If", 0, 100), kernel("MatMul_2", "MatMul", 10, 70), kernel("Add_3", "Add", 85, 10)]
    assert [row.self_ns for row in read_trace(json.dumps(events))] == [(20_000.0,), (70_000.0,), (10_000.0,)]


@pytest.mark.parametrize("text", ["", "{}", "[", '"x"'])
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"list|value|JSON"):
        read_trace(text)


def nodes(*names: str, us: float = 100, **fields) -> Profile:
    rows = tuple(Row(name, 1.0, (us * 1000, us * 1000)) for name in names)
    given = {"metric": "execute.forward", "kind": "nodes", "runtime": "onnxruntime 1.32", "clock": "wall"}
    return Profile(**{**given, "iterations": 30, "plain_ns": us * 1000 * len(rows), "rows": rows, **fields})


NAMES = [f"Conv /layer{at}" for at in range(10)]


def named(old: Profile, new: Profile, delta_us: float) -> list[str]:
    change = MeasuredChange(metric="execute.forward", delta_ns=delta_us * 1000, in_turns=True)
    return [cause.name for cause in explain(old, new, change).causes if cause.certain]


def test_nodes_that_were_added_are_one_cause() -> None:
    new = nodes(*NAMES[:5], "Sin /e/sin", "Cos /e/cos", *NAMES[5:])
    assert named(nodes(*NAMES), new, 200) == ["added Sin+Cos"]
    assert named(new, nodes(*NAMES), -200) == ["removed Sin+Cos"]


def test_nodes_that_replace_others_are_one_cause() -> None:
    old, new = nodes(*NAMES, "Gelu"), nodes(*NAMES, "Div", "Erf", "Add", "Mul", "Mul#2")
    assert named(old, new, 400) == ["Gelu -> Div+Erf+Add+Mul+Mul"]


def test_other_shapes_are_a_certain_cause_even_if_most_nodes_have_them() -> None:
    def of(channels: int, us: float) -> Profile:
        rows = tuple(Row(name, 1.0, (us * 1000,), detail=f"1x{channels}x8x8") for name in NAMES[:3])
        return nodes(*NAMES, rows=rows)

    old, new = of(16, 100), of(32, 400)
    change = MeasuredChange(metric="execute.forward", delta_ns=900_000, in_turns=True)
    found = explain(old, new, change).causes
    assert [cause.detail for cause in found] == ["1x16x8x8 -> 1x32x8x8"] * 3


def test_models_with_other_names_are_aligned_by_their_operators() -> None:
    old = nodes(*NAMES, "Exp /e")
    new = nodes(*[f"Conv node_{at}" for at in range(10)], "Exp node_x")
    before, now, blocks = align(old, new)
    assert blocks == frozenset()
    assert [row.name for row in before.rows] == [row.name for row in now.rows]


def test_a_trace_with_other_numbers_of_the_optimiser_is_the_same_model() -> None:
    old = read_trace(json.dumps([kernel("ReorderOutput_token_17", "ReorderOutput", 0, 5)]))
    assert old == read_trace(json.dumps([kernel("ReorderOutput_token_21", "ReorderOutput", 0, 5)]))

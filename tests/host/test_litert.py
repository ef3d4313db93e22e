"""LiteRT models on the host, through the real runtime and a model written here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.sensor.context import Context
from pytest_devperf.target.clock import SystemClock
from pytest_devperf.target.device import Device
from pytest_devperf.target.host.host import HostTarget

pytest.importorskip("ai_edge_litert.interpreter")
flatbuffers = pytest.importorskip("flatbuffers")
schema = pytest.importorskip("ai_edge_litert.schema_py_generated")

FLOAT32, ADD = 0, 0
"""`TensorType.FLOAT32` and `BuiltinOperator.ADD` of the LiteRT schema."""


def tensor(name: str, shape: list[int]) -> Any:
    made = schema.TensorT()
    made.name, made.shape, made.type, made.buffer = name.encode(), shape, FLOAT32, 0
    made.shapeSignature = [-1 if axis == 0 else size for axis, size in enumerate(shape)]
    return made


@pytest.fixture
def doubling(tmp_path: Path) -> str:
    """Write a model y = x + x whose first dimension is open."""
    model, graph, operator, code = schema.ModelT(), schema.SubGraphT(), schema.OperatorT(), schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = ADD
    code.version = 1
    operator.opcodeIndex, operator.inputs, operator.outputs = 0, [0, 0], [1]
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.AddOptions, schema.AddOptionsT()
    graph.tensors, graph.inputs, graph.outputs = [tensor("x", [1, 3]), tensor("y", [1, 3])], [0], [1]
    graph.operators, graph.name = [operator], b"main"
    model.version, model.operatorCodes, model.subgraphs, model.buffers = 3, [code], [graph], [schema.BufferT()]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path = tmp_path / "double.tflite"
    path.write_bytes(bytes(builder.Output()))
    return str(path)


@pytest.fixture
def target() -> HostTarget:
    return HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))


def test_a_model_is_loaded_executed_and_answers(target, doubling):
    given = np.arange(6, dtype=np.float32).reshape(2, 3)

    with target.start(Model(path=doubling, inputs={"x": given}), 0) as runner:
        samples = runner.run(4, 1)
        runner.run(1, 10)
        outputs = runner.result()

    assert runner.load_ns > 0
    assert len(samples) == 4
    np.testing.assert_array_equal(outputs["y"], 2 * given)


def test_open_dimensions_are_pinned_by_their_place(target, doubling):
    survey = target.survey(Model(path=doubling))

    assert survey.skipped == {"forward": "dimension 'x.0' has no fixed size; pass dims={'x.0': N}"}
    with target.start(Model(path=doubling, dims={"x.0": 5}), 0) as runner:
        assert runner.result()["y"].shape == (5, 3)


def test_the_survey_tells_inputs_hash_and_runtime(target, doubling):
    survey = target.survey(Model(path=doubling, dims={"x.0": 2}))

    assert survey.methods == ("forward",)
    assert survey.inputs["x"]["shape"] == [2, 3]
    assert len(survey.model_sha256) == 64
    assert survey.env["sdk"].startswith("ai-edge-litert")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"providers": ("CPUExecutionProvider",)}, "no providers"),
        ({"session_options": {"threads": 2}}, "num_threads"),
        ({"inputs": {"z": np.ones(1)}}, "no input 'z'"),
        ({"method": "backward"}, "no method"),
    ],
)
def test_what_is_wrong_is_told(target, doubling, fields, words):
    with pytest.raises(CaseError, match=words):
        target.survey(Model(path=doubling, **fields))


def test_a_file_that_is_no_model_is_told(target, tmp_path):
    (tmp_path / "m.tflite").write_bytes(b"nothing")

    with pytest.raises(CaseError, match=r"m\.tflite"):
        target.survey(Model(path=str(tmp_path / "m.tflite")))

"""Sessions with .tflite and .pte models on the simulated phone, through stand-ins of their projects' tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from model_files import pte, tflite
from stand_in import build_stand_in

Session = Any
"""The fixtures' own class; conftest files are not imported."""

SUITE = """
def test_tflite(devperf):
    outputs = devperf.model("m.tflite", dims={"x.0": 2})
    assert outputs["y"].shape == (2, 3)

def test_pte(devperf):
    assert "output0" in devperf.model("m.pte")
"""


@pytest.fixture
def models(session: Session) -> Session:
    (session.path / "m.tflite").write_bytes(tflite(signatures=["one"], open_rank=1))
    (session.path / "m.pte").write_bytes(pte(methods=["forward", "other"]))
    session.pytester.makepyfile(test_models=SUITE)
    return session


def test_both_kinds_are_measured_with_load_memory_and_outputs(models: Session, own_setups: Path) -> None:
    for name in ("benchmark_model", "executor_runner"):
        build_stand_in(name, own_setups / "sim")

    result = models.run("--devperf-json=run.json")

    result.assert_outcomes(passed=2)
    metrics = {
        case: {metric["name"]: metric for metric in record["metrics"]} for case, record in models.cases().items()
    }
    first, second = metrics["test_models.py::test_tflite"], metrics["test_models.py::test_pte"]
    assert [len(samples) for samples in first["execute.one"]["samples_ns"]] == [1, 1, 1]
    assert [len(samples) for samples in second["execute.other"]["samples_ns"]] == [10, 10, 10]
    assert {"load", "peak_memory"} <= set(first) & set(second)
    assert first["load"]["robust"] == pytest.approx(0.855)
    assert second["load"]["robust"] == pytest.approx(0.75)
    assert all(record["run_context"]["during"]["peak_ram_mb"] for record in models.cases().values())


def test_what_is_not_set_up_is_skipped_with_the_command_that_does_it(models: Session) -> None:
    result = models.run("-rs")

    result.assert_outcomes(skipped=2)
    flat = " ".join(result.stdout.str().split())
    assert "devperf setup-android --benchmark-model FILE" in flat
    assert "devperf setup-android --executor-runner FILE" in flat


def test_a_model_whose_sizes_a_test_left_open_fails_and_names_them(session: Session) -> None:
    kind = onnx.TensorProto.FLOAT
    slots = [onnx.helper.make_tensor_value_info(name, kind, ["batch", "seq"]) for name in ("x", "y")]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", slots[:1], slots[1:])
    onnx.save(onnx.helper.make_model(graph), session.path / "open.onnx")
    session.pytester.makepyfile(test_open="def test_open(devperf): devperf.model('open.onnx')")

    result = session.run()

    result.assert_outcomes(failed=1)
    assert "dimensions 'batch', 'seq' have no fixed size; pass dims={'batch': N, 'seq': N}" in result.stdout.str()

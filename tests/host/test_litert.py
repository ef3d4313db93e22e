"""LiteRT models on the host, through the real runtime and a model written here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from model_files import tflite

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.host.target import HostTarget

pytest.importorskip("ai_edge_litert.interpreter")


@pytest.fixture
def doubling(tmp_path: Path) -> str:
    """Write a model y = x + x whose first dimension is open."""
    path = tmp_path / "double.tflite"
    path.write_bytes(tflite(open_rank=1))
    return str(path)


@pytest.fixture
def two_methods(tmp_path: Path) -> str:
    """Write the same as two signatures, the second on a separate subgraph."""
    path = tmp_path / "two.tflite"
    path.write_bytes(tflite(signatures=["one", "two"], open_rank=1))
    return str(path)


@pytest.fixture
def wakeword() -> str:
    """A wake word detector that a wheel carries: int8 [1, 3, 40] -> uint8 [1, 1]."""
    spec = find_spec("pymicro_wakeword")
    if spec is None or spec.origin is None:
        pytest.skip("pymicro-wakeword is not installed")
    return str(Path(spec.origin).with_name("models") / "okay_nabu.tflite")


@pytest.fixture
def target() -> HostTarget:
    return HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))


def test_a_model_is_loaded_executed_and_answers(target, doubling):
    given = np.arange(6, dtype=np.float32).reshape(2, 3)

    with target.start(Model(path=doubling, inputs={"main_x:0": given}), 0) as runner:
        samples = runner.run(4, 1)
        runner.run(1, 10)
        outputs = runner.result()

    assert runner.load_ns > 0
    assert len(samples) == 4
    np.testing.assert_array_equal(outputs["main_y:0"], 2 * given)


def test_open_dimensions_are_pinned_by_their_place(target, doubling):
    survey = target.survey(Model(path=doubling))

    assert survey.wanting == {"forward": "dimension 'main_x:0.0' has no fixed size; pass dims={'main_x:0.0': N}"}
    with target.start(Model(path=doubling, dims={"main_x:0.0": 5}), 0) as runner:
        assert runner.result()["main_y:0"].shape == (5, 3)


def test_the_survey_contains_inputs_hash_and_runtime(target, doubling):
    survey = target.survey(Model(path=doubling, dims={"main_x:0.0": 2}))

    assert survey.methods == ("forward",)
    assert survey.inputs["main_x:0"]["shape"] == [2, 3]
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
def test_errors_are_reported(target, doubling, fields, words):
    with pytest.raises(CaseError, match=words):
        target.survey(Model(path=doubling, **fields))


def test_a_file_that_is_no_model_is_reported(target, tmp_path):
    (tmp_path / "m.tflite").write_bytes(b"nothing")

    with pytest.raises(CaseError, match=r"m\.tflite"):
        target.survey(Model(path=str(tmp_path / "m.tflite")))


def test_each_signature_is_a_separate_method(target, two_methods):
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    model = Model(path=two_methods, method="two", inputs={"x": given})

    survey = target.survey(model)
    with target.start(model, 0) as runner:
        runner.run(2, 3)
        outputs = runner.result()

    assert survey.methods == ("one", "two")
    assert set(survey.inputs) == {"one.x", "two.x"}
    np.testing.assert_array_equal(outputs["y"], 2 * given)


def test_a_real_model_from_a_wheel_runs_with_made_inputs_the_same_each_time(target, wakeword):
    model = Model(path=wakeword, memory=True)

    surveys = [target.survey(model) for _ in range(2)]
    with target.start(model, 0) as runner:
        samples = runner.run(3, 2)
        outputs = runner.result()
        memory = runner.memory(2)

    assert surveys[0] == surveys[1]
    assert surveys[0].methods == ("serving_default",)
    assert all(sample > 0 for sample in samples)
    assert outputs["dense_1"].shape == (1, 1)
    assert memory.peak >= memory.loaded > memory.baseline

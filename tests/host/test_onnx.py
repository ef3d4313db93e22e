"""ONNX models on the host, through the real runtime."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_devperf.case.digest import Digest
from pytest_devperf.case.fingerprint import fingerprint
from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.sensor.context import Context
from pytest_devperf.targets.clock import SystemClock
from pytest_devperf.targets.device import Device
from pytest_devperf.targets.host.target import HostTarget
from pytest_devperf.targets.protocol import Answering, ContextReporting, Looping, Surveying, Ticking

ort = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")
helper, T = onnx.helper, onnx.TensorProto

Make = Callable[..., Model]


@pytest.fixture
def target() -> HostTarget:
    return HostTarget(device=Device(kind="host"), clock=SystemClock(), look=lambda: Context(at_ns=0))


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a model of the given nodes, inputs and outputs."""

    def write(
        nodes: list[Any], takes: list[Any], gives: list[Any], weights: tuple[Any, ...] = (), **fields: Any
    ) -> Model:
        graph = helper.make_graph(nodes, "g", takes, gives, list(weights))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        path = tmp_path / "model.onnx"
        onnx.save_model(model, str(path))
        return Model(path=str(path), **fields)

    return write


def value(name: str, kind: int, shape: list[Any] | None) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


@pytest.fixture
def scale(make: Make) -> Make:
    """y = x * x, of any type and shape."""

    def write(shape: list[Any], kind: int = T.FLOAT, **fields: Any) -> Model:
        return make(
            [helper.make_node("Mul", ["x", "x"], ["y"])],
            [value("x", kind, shape)],
            [value("y", kind, shape)],
            **fields,
        )

    return write


def test_a_model_is_loaded_executed_and_answers(target, scale):
    given = np.arange(6, dtype=np.float32).reshape(2, 3)

    with target.start(scale([2, 3], inputs={"x": given}), 0) as runner:
        samples = runner.run(5, 1)
        several = runner.run(2, 10)
        outputs = runner.result()

    assert runner.load_ns > 0
    assert len(samples) == 5
    assert all(sample > 0 for sample in (*samples, *several))
    np.testing.assert_array_equal(outputs["y"], given**2)


def test_the_runner_keeps_its_optional_promises(target, scale):
    with target.start(scale([2]), 0) as runner:
        assert isinstance(runner, Answering)
        assert isinstance(runner, ContextReporting)
        assert isinstance(runner, Ticking)
        assert isinstance(runner, Looping)
        assert runner.loops
        assert runner.anchor() > 0
    assert isinstance(target, Surveying)


def test_made_inputs_are_the_same_in_every_start_and_in_the_survey(target, scale):
    model = scale(["n", 3], dims={"n": 4})
    answers = []
    for process in range(2):
        with target.start(model, process) as runner:
            answers.append(runner.result()["y"])

    survey = target.survey(model)

    np.testing.assert_array_equal(answers[0], answers[1])
    assert survey == target.survey(model)
    assert survey.inputs["x"]["shape"] == [4, 3]
    assert answers[0].any()


def test_an_output_handed_over_is_a_copy(target, scale):
    with target.start(scale([2]), 0) as runner:
        runner.result()["y"][:] = -1
        runner.run(1, 1)
        assert (runner.result()["y"] >= 0).all()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (T.FLOAT, "float32"),
        (T.DOUBLE, "float64"),
        (T.FLOAT16, "float16"),
        (T.INT32, "int32"),
        (T.INT64, "int64"),
        (T.UINT32, "uint32"),
        (T.UINT64, "uint64"),
    ],
)
def test_every_number_type_is_fed(target, scale, kind, name):
    model = scale([2, 2], kind)

    with target.start(model, 0) as runner:
        runner.run(1, 1)
        assert runner.result()["y"].dtype.name == name
    assert target.survey(model).inputs["x"]["dtype"] == name


@pytest.mark.parametrize("kind", [T.INT8, T.UINT8, T.INT16, T.UINT16, T.BOOL])
def test_types_without_arithmetic_are_fed(target, make, kind):
    model = make([helper.make_node("Identity", ["x"], ["y"])], [value("x", kind, [3])], [value("y", kind, [3])])

    with target.start(model, 0) as runner:
        runner.run(1, 1)
        assert runner.result()["y"].shape == (3,)


def test_a_scalar_and_an_empty_input_are_fed(target, make):
    model = make(
        [helper.make_node("Mul", ["x", "s"], ["y"])],
        [value("x", T.FLOAT, [0, 3]), value("s", T.FLOAT, [])],
        [value("y", T.FLOAT, [0, 3])],
    )

    with target.start(model, 0) as runner:
        runner.run(1, 1)
        assert runner.result()["y"].shape == (0, 3)


def test_strings_are_fed_without_binding(target, make):
    model = make(
        [helper.make_node("Identity", ["x"], ["y"])],
        [value("x", T.STRING, [2])],
        [value("y", T.STRING, [2])],
        inputs={"x": ["one", "zwei"]},
    )

    with target.start(model, 0) as runner:
        runner.run(2, 1)
        assert list(runner.result()["y"]) == ["one", "zwei"]
    with target.start(replace(model, inputs=None), 0) as runner:
        assert runner.result()["y"].shape == (2,)


def test_an_output_whose_size_depends_on_the_values_is_left_to_the_runtime(target, make):
    model = make(
        [helper.make_node("NonZero", ["x"], ["y"])],
        [value("x", T.FLOAT, [4])],
        [value("y", T.INT64, [1, "count"])],
        inputs={"x": np.array([0, 1, 0, 2], dtype=np.float32)},
    )

    with target.start(model, 0) as runner:
        runner.run(2, 1)
        assert runner.result()["y"].tolist() == [[1, 3]]


def test_an_output_whose_declared_shape_is_wrong_is_run_all_the_same(target, make, capfd):
    model = make(
        [helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Identity", ["i"], ["y"])],
        [value("x", T.FLOAT, [4])],
        [value("y", T.INT64, [1, 7])],
        inputs={"x": np.array([0, 1, 0, 2], dtype=np.float32)},
    )

    with target.start(model, 0) as runner:
        runner.run(2, 1)
        assert runner.result()["y"].tolist() == [[1, 3]]
    assert capfd.readouterr().err == ""


def test_a_sequence_of_outputs_is_handed_over_as_a_list(target, make):
    tensor = helper.make_tensor_type_proto(T.FLOAT, None)
    model = make(
        [helper.make_node("SplitToSequence", ["x"], ["y"], axis=0, keepdims=0)],
        [value("x", T.FLOAT, [2, 2])],
        [helper.make_value_info("y", helper.make_sequence_type_proto(tensor))],
        inputs={"x": np.array([[1, 2], [3, 4]], dtype=np.float32)},
    )

    with target.start(model, 0) as runner:
        runner.run(2, 1)
        assert [each.tolist() for each in runner.result()["y"]] == [[1, 2], [3, 4]]


def test_a_default_that_is_no_input_need_not_be_fed(target, make):
    weight = helper.make_tensor("w", T.FLOAT, [2], [2.0, 3.0])
    model = make(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        [value("x", T.FLOAT, [2]), value("w", T.FLOAT, [2])],
        [value("y", T.FLOAT, [2])],
        (weight,),
    )

    assert set(target.survey(model).inputs) == {"x"}


@pytest.mark.parametrize(
    ("shape", "dims", "wants"),
    [
        (["seq", 3], {}, r"dimension 'seq' has no fixed size; pass dims={'seq': N}"),
        (["a", "b"], {"a": 2}, r"dimension 'b' has no fixed size"),
        (["a", "b"], {}, r"dimensions 'a', 'b' have no fixed size; pass dims={'a': N, 'b': N}"),
        ([None, 3], {}, r"dimension 'x.0' has no fixed size; pass dims={'x.0': N}"),
        (["n", 1 << 20], {"n": 1 << 10}, r"4.0 GiB .* more than 1 GiB"),
    ],
)
def test_a_model_with_open_sizes_shows_what_a_test_has_to_pass(target, scale, shape, dims, wants):
    model = scale(shape, dims=dims)
    survey = target.survey(model)

    assert survey.methods == ()
    assert survey.skipped == {}
    with pytest.raises(CaseError, match=wants):
        survey.require_method()
    with pytest.raises(CaseError, match=wants), target.start(model, 0):
        pass


def test_a_size_of_zero_is_a_size(target, make):
    model = make(
        [helper.make_node("Concat", ["a", "b"], ["y"], axis=1)],
        [value("a", T.FLOAT, ["batch", "past"]), value("b", T.FLOAT, ["batch", 3])],
        [value("y", T.FLOAT, ["batch", "all"])],
        dims={"batch": 2, "past": 0},
    )

    with target.start(model, 0) as runner:
        runner.run(2, 1)
        assert runner.result()["y"].shape == (2, 3)
    assert target.survey(model).inputs["a"]["shape"] == [2, 0]


def test_indices_beyond_a_table_name_the_input_that_was_made(target, make):
    table = onnx.numpy_helper.from_array(np.zeros((2, 3), dtype=np.float32), "table")
    model = make(
        [helper.make_node("Gather", ["table", "ids"], ["y"])],
        [value("ids", T.INT64, [50])],
        [value("y", T.FLOAT, [50, 3])],
        (table,),
    )

    with (
        pytest.raises(CaseError, match=r"cannot be run here .*from 0 to 127; .* pass inputs=\{'ids': array\}"),
        target.start(model, 0),
    ):
        pass


@pytest.mark.parametrize("what", ["bfloat16", "sequence", "optional"])
def test_inputs_that_no_array_holds_are_skipped_with_the_reason(target, make, what):
    tensor = helper.make_tensor_type_proto(T.FLOAT, [2])
    kinds = {
        "bfloat16": helper.make_tensor_type_proto(T.BFLOAT16, [2]),
        "sequence": helper.make_sequence_type_proto(tensor),
        "optional": helper.make_optional_type_proto(tensor),
    }
    slots = [helper.make_value_info(name, kinds[what]) for name in ("x", "y")]
    model = make([helper.make_node("Identity", ["x"], ["y"])], slots[:1], slots[1:])

    assert f"is of type {what}" in target.survey(model).skipped["forward"]


def test_an_unnamed_dimension_can_be_named_by_its_place(target, scale):
    with target.start(scale([None, 3], dims={"x.0": 5}), 0) as runner:
        assert runner.result()["y"].shape == (5, 3)


def test_a_given_input_pins_its_own_open_dimensions(target, scale):
    with target.start(scale(["n", 3], inputs={"x": np.ones((7, 3), dtype=np.float32)}), 0) as runner:
        assert runner.result()["y"].shape == (7, 3)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"inputs": {"z": np.ones(3)}}, r"no input 'z': it takes x float32 \[n, 3\]"),
        ({"inputs": {"x": np.ones((1, 3))}}, r"'x' was given as float64 \[1, 3\]: expected x float32 \[n, 3\]"),
        ({"inputs": {"x": np.ones(3, dtype=np.float32)}}, r"given as float32 \[3\]"),
        ({"inputs": {"x": np.ones((1, 4), dtype=np.float32)}}, r"given as float32 \[1, 4\]"),
        ({"inputs": {"x": np.ones((2, 3), dtype=np.float32)}, "dims": {"n": 1}}, r"given as float32 \[2, 3\]"),
        ({"dims": {"m": 1}}, "no dimension 'm'"),
        ({"dims": {"n": -1}}, "whole number, 0 or more"),
        ({"method": "backward"}, "no method 'backward'"),
        ({"providers": ("NoSuchProvider",)}, "no NoSuchProvider: there are .*CPUExecutionProvider"),
        ({"providers": ("CPUExecutionProvider",), "provider_options": ()}, "one mapping per provider"),
        ({"session_options": {"threads": 1}}, "no 'threads': there are .*intra_op_num_threads"),
        ({"session_options": {"intra_op_num_threads": "many"}}, "cannot be 'many': pass int"),
    ],
)
def test_an_error_of_a_model_shows_what_would_be_right(target, scale, fields, words):
    model = scale(["n", 3], **fields)

    with pytest.raises(CaseError, match=words):
        target.survey(model)
    with pytest.raises(CaseError, match=words), target.start(model, 0):
        pass


def test_session_options_reach_the_session(target, scale, tmp_path):
    optimised = tmp_path / "optimised.onnx"
    options = {
        "graph_optimization_level": "ORT_DISABLE_ALL",
        "optimized_model_filepath": str(optimised),
        "session.intra_op.allow_spinning": "0",
    }

    with target.start(scale([2], session_options=options), 0):
        assert optimised.exists()


def test_the_model_file_is_hashed_with_its_external_data(target, make, tmp_path):
    weight = onnx.numpy_helper.from_array(np.arange(2000, dtype=np.float32), "w")
    model = make(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        [value("x", T.FLOAT, [2000])],
        [value("y", T.FLOAT, [2000])],
        (weight,),
    )
    plain = target.survey(model).model_sha256
    path = Path(model.path)
    assert plain == hashlib.sha256(path.read_bytes()).hexdigest()

    loaded = onnx.load(model.path)
    onnx.save_model(loaded, model.path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    before = target.survey(model).model_sha256
    weights = bytearray((tmp_path / "weights.bin").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "weights.bin").write_bytes(weights + b"")
    touched = (tmp_path / "weights.bin").stat()
    os.utime(tmp_path / "weights.bin", ns=(touched.st_atime_ns, touched.st_mtime_ns + 1_000_000))
    after = target.survey(model).model_sha256

    assert len({plain, before, after}) == 3
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(CaseError, match=r"weights\.bin"):
        target.survey(model)


def test_another_model_of_the_same_inputs_is_the_same_work(target, scale, make):
    square = scale([2, 3])
    one = fingerprint(square, Digest(), facts={}, input_facts=target.survey(square).inputs)
    double = make(
        [helper.make_node("Add", ["x", "x"], ["y"])], [value("x", T.FLOAT, [2, 3])], [value("y", T.FLOAT, [2, 3])]
    )
    other = fingerprint(double, Digest(), facts={}, input_facts=target.survey(double).inputs)

    assert one == other


@pytest.mark.parametrize("content", [b"", b"hello world", b"\x08\x07", b"\xff" * 100])
def test_a_file_that_is_no_model_is_reported(target, tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)

    with pytest.raises(CaseError, match=r"model\.onnx"):
        target.survey(Model(path=str(path)))


def test_a_model_cut_off_anywhere_is_refused_or_read_but_never_breaks(target, scale):
    whole = Path(scale(["n", 3], dims={"n": 2}).path)
    content = whole.read_bytes()

    for length in range(len(content)):
        whole.write_bytes(content[:length])
        with contextlib.suppress(CaseError):
            target.survey(Model(path=str(whole)))


def test_a_model_the_runtime_refuses_is_an_error_of_the_case(target, make):
    model = make(
        [helper.make_node("NoSuchOperator", ["x"], ["y"])], [value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])]
    )

    with pytest.raises(CaseError, match=r"model\.onnx cannot be run here .*NoSuchOperator"), target.start(model, 0):
        pass


def test_a_missing_file_and_an_unknown_suffix_are_reported(target, tmp_path):
    (tmp_path / "model.xyz").write_text("")

    with pytest.raises(CaseError, match="no model file"):
        target.survey(Model(path=str(tmp_path / "none.onnx")))
    with pytest.raises(CaseError, match=r"known suffixes: \.onnx"):
        target.survey(Model(path=str(tmp_path / "model.xyz")))


def test_the_provider_and_the_runtime_are_reported(target, scale):
    model = scale([2])

    assert target.survey(model).env == {"ep": "CPUExecutionProvider", "sdk": f"onnxruntime {ort.__version__}"}


@pytest.mark.skipif("AzureExecutionProvider" not in ort.get_available_providers(), reason="this build lacks it")
@pytest.mark.skipif(
    not hasattr(ort.InferenceSession, "get_provider_graph_assignment_info"), reason="this version does not report it"
)
def test_nodes_on_another_provider_are_reported_once_the_model_is_loaded(target, scale):
    model = scale([2], providers=("AzureExecutionProvider", "CPUExecutionProvider"))

    assert "ep" not in target.survey(model).env
    with target.start(model, 0):
        assert target.look().env["ep"] == "CPUExecutionProvider"
    assert "ep" not in target.look().env


def test_the_memory_of_a_model_is_seen_and_given_back(target, make):
    count = 16 << 20
    model = make(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        [value("x", T.FLOAT, [1])],
        [value("y", T.FLOAT, [count])],
        (onnx.numpy_helper.from_array(np.ones(count, dtype=np.float32), "w"),),
    )

    with target.start(replace(model, memory=True), 0) as runner:
        memory = runner.memory(1)
        with pytest.raises(CaseError, match="has been unloaded"):
            runner.run(1, 1)
        with pytest.raises(CaseError, match="has been unloaded"):
            runner.result()

    assert memory.loaded - memory.baseline > 4 * count
    assert memory.peak - memory.loaded > 3 * count
    assert memory.disposed - memory.baseline < 2 * count


def test_a_model_without_a_runtime_is_skipped_with_how_to_install_it(scale):
    model = scale([2])
    script = f"""
import sys
sys.modules["onnxruntime"] = None
from pytest_devperf.case.workload import Model
from pytest_devperf.errors import Unsupported
from pytest_devperf.targets.host.models.runtime import runtime_of
model = Model(path={model.path!r})
try:
    runtime_of(model).survey(model)
except Unsupported as error:
    print(error)
"""
    printed = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout

    assert "pip install pytest-devperf[onnx]" in printed


def test_a_survey_reads_a_model_without_making_a_session(scale, monkeypatch, target):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a session was made")

    monkeypatch.setattr(ort, "InferenceSession", refuse)

    assert target.survey(scale([2])).methods == ("forward",)


def test_a_model_moved_to_another_folder_is_the_same_model(target, scale, tmp_path):
    model = scale([2])
    (tmp_path / "elsewhere").mkdir()
    moved = shutil.copy(model.path, tmp_path / "elsewhere" / "m.onnx")

    assert target.survey(model) == target.survey(replace(model, path=str(moved)))

"""Methods, inputs and outputs in .tflite and .pte files."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_files import onnx, pack, pte, shared_signatures, tflite

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError
from pytest_devperf.model_file.content import model_sha256, weights_beside
from pytest_devperf.model_file.executorch import backends_of, parse_executorch, read_executorch
from pytest_devperf.model_file.litert import parse_litert, read_litert
from pytest_devperf.model_file.method import prepare_methods
from pytest_devperf.model_file.onnx import parse_schema, read_schema
from pytest_devperf.model_file.tensor import TensorSpec


def test_a_model_without_signatures_has_its_main_subgraph_as_forward():
    (method,) = parse_litert(tflite())

    assert method.name == "forward"
    assert method.inputs == (TensorSpec(name="main_x:0", dtype="float32", shape=(1, 3)),)
    assert method.outputs == (TensorSpec(name="main_y:0", dtype="float32", shape=(1, 3)),)


def test_signatures_are_methods_and_name_inputs_and_outputs():
    methods = parse_litert(tflite(signatures=["encode", "decode"]))

    assert [(method.name, method.place) for method in methods] == [("encode", 0), ("decode", 1)]
    assert [method.inputs[0].name for method in methods] == ["x", "x"]
    assert methods[1].outputs[0].name == "y"


def test_open_dimensions_are_detected_although_the_shape_contains_1():
    assert parse_litert(tflite(open_rank=1))[0].inputs[0].shape == (None, 3)


def test_execution_plans_are_methods_with_numbered_inputs():
    methods = parse_executorch(pte(methods=["forward", "encode"]))

    assert [method.name for method in methods] == ["forward", "encode"]
    assert methods[1].inputs == tuple(TensorSpec(name=f"input{n}", dtype="float32", shape=(2, 3)) for n in (0, 1))
    assert methods[0].outputs == (TensorSpec(name="output0", dtype="float32", shape=(2, 3)),)
    assert backends_of(methods) == "kernels"


def test_bounded_sizes_are_used_and_unbounded_ones_are_open():
    assert parse_executorch(pte(dynamism=1))[0].inputs[0].shape == (2, 3)
    assert parse_executorch(pte(dynamism=2))[0].inputs[0].shape == (None, None)


def test_a_method_that_takes_a_plain_number_is_skipped_with_the_reason():
    (method,) = parse_executorch(pte(with_int=True))

    assert method.reason == "input 'input2' is of type int, and only tensors are supported"


def test_a_method_with_open_sizes_names_them_and_others_run(tmp_path):
    methods = parse_litert(tflite(signatures=["small", "open"], open_rank=1))
    model = Model(path=str(tmp_path / "m.tflite"), dims={})
    pinned = parse_litert(tflite(signatures=["small"]))

    fed = prepare_methods((*pinned, methods[1]), model)

    assert fed.ready == ("small",)
    assert fed.skipped == {}
    assert fed.wanting == {"open": "dimension 'x.0' has no fixed size; pass dims={'x.0': N}"}
    assert fed.select(model)[0].name == "small"
    with pytest.raises(CaseError, match=r"m\.tflite: dimension 'x\.0'"):
        fed.select(Model(path=model.path, method="open"))


def test_inputs_of_several_methods_are_described_under_their_names():
    model = Model(path="m.tflite", inputs={"x": np.ones((1, 3), dtype=np.float32)})

    fed = prepare_methods(parse_litert(tflite(signatures=["one", "two"])), model)

    assert list(fed.describe_inputs()) == ["one.x", "two.x"]


@pytest.mark.parametrize("fields", [{"inputs": {"z": np.ones(1)}}, {"dims": {"z": 1}}])
def test_an_input_that_no_method_takes_is_refused_with_the_known_ones(fields):
    with pytest.raises(CaseError, match=r"'z'.*one takes x float32"):
        prepare_methods(parse_litert(tflite(signatures=["one", "two"])), Model(path="m.tflite", **fields))


@pytest.mark.parametrize("read", [read_litert, read_executorch])
@pytest.mark.parametrize("data", [b"nothing at all", b"", b"\xff\xff\xff\x7fTFL3\xff", b"\xff\xff\xff\x7fET12\xff"])
def test_a_foreign_file_is_named_in_the_error(read, data, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(data)

    with pytest.raises(CaseError, match=r"model\.bin"):
        read(str(path))


def test_offsets_that_meet_in_one_place_cost_no_more_than_the_files_length():
    assert len(parse_litert(shared_signatures(3))) == 3

    with pytest.raises(ValueError, match="refer to one another without end"):
        parse_litert(shared_signatures(1500))


def test_inputs_whose_names_were_stripped_are_fed_apart():
    bare = {3: ("text", ""), 0: ("numbers:i", [1]), 1: ("b", 0)}
    subgraph = {0: ("tables", [bare, bare, bare]), 1: ("numbers:i", [0, 1]), 2: ("numbers:i", [2])}

    (method,) = parse_litert(pack({2: ("tables", [subgraph])}, b"TFL3"))

    assert len({slot.name for slot in method.inputs}) == 2
    assert len(prepare_methods((method,), Model(path="m.tflite")).inputs["forward"].arrays) == 2


@pytest.mark.parametrize(
    ("read", "data"), [(read_litert, tflite(signatures=["a", "a"])), (read_executorch, pte(methods=["a", "a"]))]
)
def test_methods_of_one_name_are_refused(read, data, tmp_path):
    (tmp_path / "m.bin").write_bytes(data)

    with pytest.raises(CaseError, match=r"two methods of .* have the same name"):
        read(str(tmp_path / "m.bin"))


def test_an_onnx_model_names_its_inputs_outputs_and_weights():
    schema = parse_schema(onnx(inputs=["a", "b"], external=["w.bin", "sub/v.bin"], levels=5))

    assert schema.inputs == tuple(TensorSpec(name=name, dtype="float32", shape=(1, 3)) for name in "ab")
    assert schema.outputs == (TensorSpec(name="y", dtype="float32", shape=(1, 3)),)
    assert schema.external == ("sub/v.bin", "w.bin")


def test_nested_graphs_are_refused_beyond_the_limit_of_protobuf():
    assert parse_schema(onnx(external=["w"], levels=30)).external == ("w",)

    with pytest.raises(ValueError, match="nested more than 100 levels"):
        parse_schema(onnx(external=["w"], levels=3000))


def test_onnx_inputs_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two of its inputs have the same name"):
        parse_schema(onnx(inputs=["x", "x"]))


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize("read", [read_litert, read_executorch, read_schema])
def test_a_git_lfs_pointer_in_the_place_of_a_model_is_called_so(read, tmp_path):
    (tmp_path / "m.bin").write_bytes(POINTER)

    with pytest.raises(CaseError, match=r"m\.bin is a Git LFS pointer, .*git lfs pull"):
        read(str(tmp_path / "m.bin"))


@pytest.mark.parametrize("read", [read_litert, read_executorch, read_schema])
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a FIFO is a POSIX matter")
def test_a_model_that_is_not_a_regular_file_is_not_waited_for(read, tmp_path):
    os.mkfifo(tmp_path / "m.bin")

    for path in (tmp_path / "m.bin", tmp_path, Path(os.devnull)):
        with pytest.raises(CaseError, match="is not a regular file"):
            read(str(path))


@pytest.fixture
def model(tmp_path):
    """A model with one file of weights, whose name tests choose."""
    (tmp_path / "models").mkdir()
    (tmp_path / "outside").write_bytes(b"w")

    def make(location):
        path = tmp_path / "models" / "m.onnx"
        path.write_bytes(onnx(external=[location]))
        return str(path)

    return make


@pytest.mark.parametrize(
    "name",
    [
        "/dev/zero",
        "../outside",
        "a/../../outside",
        "..\\outside",
        "C:\\x",
        "C:x",
        "\\\\host\\x",
        "",
        ".",
        "a\x00b",
        "a\nb",
    ],
)
def test_weights_outside_the_models_folder_are_refused(model, name):
    path = model(name)

    for use in (weights_beside, model_sha256):
        with pytest.raises(CaseError, match="outside its folder") as refused:
            use(path, read_schema(path).external)
        assert str(refused.value).isprintable()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a FIFO is a POSIX matter")
def test_weights_that_are_not_a_regular_file_are_not_waited_for(model, tmp_path):
    path = model("w.bin")
    os.mkfifo(tmp_path / "models" / "w.bin")

    with pytest.raises(CaseError, match=r"w\.bin, a part of model .*, is not a regular file"):
        model_sha256(path, ("w.bin",))


def test_weights_may_be_links_as_in_download_caches(model, tmp_path):
    path = model("w.bin")
    (tmp_path / "models" / "w.bin").symlink_to(tmp_path / "outside")

    assert weights_beside(path, ["w.bin"])["w.bin"].read_bytes() == b"w"


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read"), (POINTER, "Git LFS pointer")])
def test_weights_that_are_not_there_are_named(model, tmp_path, content, words):
    path = model("w.bin")
    if content is not None:
        (tmp_path / "models" / "w.bin").write_bytes(content)

    with pytest.raises(CaseError, match=rf"w\.bin, a part of model .*{words}"):
        model_sha256(path, ("w.bin",))


WHOLE = {parse_litert: tflite(signatures=["one"], open_rank=1), parse_executorch: pte()}


@pytest.mark.parametrize("parse", WHOLE)
@given(data=st.data())
def test_a_damaged_file_gives_methods_or_a_value_error_and_nothing_worse(parse, data):
    whole = bytearray(WHOLE[parse])
    whole[data.draw(st.integers(8, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(8, len(whole)))

    with suppress(ValueError):
        assert isinstance(parse(bytes(whole[:cut])), tuple)

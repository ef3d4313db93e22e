"""What .tflite and .pte files say about themselves."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_files import pte, tflite

from pytest_devperf.case.workload import Model
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.target.executorch_file import backends_of, parse_executorch, read_executorch
from pytest_devperf.target.litert_file import parse_litert, read_litert
from pytest_devperf.target.method import feed_methods
from pytest_devperf.target.onnx_file import Slot


def test_a_model_without_signatures_has_its_main_subgraph_as_forward():
    (method,) = parse_litert(tflite())

    assert method.name == "forward"
    assert method.inputs == (Slot(name="main_x:0", dtype="float32", shape=(1, 3)),)
    assert method.outputs == (Slot(name="main_y:0", dtype="float32", shape=(1, 3)),)


def test_signatures_are_methods_and_name_inputs_and_outputs():
    methods = parse_litert(tflite(signatures=["encode", "decode"]))

    assert [(method.name, method.place) for method in methods] == [("encode", 0), ("decode", 1)]
    assert [method.inputs[0].name for method in methods] == ["x", "x"]
    assert methods[1].outputs[0].name == "y"


def test_open_dimensions_are_seen_although_the_shape_says_1():
    assert parse_litert(tflite(open_rank=1))[0].inputs[0].shape == (None, 3)


def test_execution_plans_are_methods_with_numbered_inputs():
    methods = parse_executorch(pte(methods=["forward", "encode"]))

    assert [method.name for method in methods] == ["forward", "encode"]
    assert methods[1].inputs == tuple(Slot(name=f"input{n}", dtype="float32", shape=(2, 3)) for n in (0, 1))
    assert methods[0].outputs == (Slot(name="output0", dtype="float32", shape=(2, 3)),)
    assert backends_of(methods) == "kernels"


def test_bounded_sizes_stand_and_unbound_ones_are_open():
    assert parse_executorch(pte(dynamism=1))[0].inputs[0].shape == (2, 3)
    assert parse_executorch(pte(dynamism=2))[0].inputs[0].shape == (None, None)


def test_a_method_that_takes_a_plain_number_says_so():
    (method,) = parse_executorch(pte(with_int=True))

    assert method.reason == "input 'input2' is of type int, and only tensors can be fed"


def test_a_method_that_cannot_be_fed_is_skipped_with_its_reason_and_others_run(tmp_path):
    methods = parse_litert(tflite(signatures=["small", "open"], open_rank=1))
    model = Model(path=str(tmp_path / "m.tflite"), dims={})
    pinned = parse_litert(tflite(signatures=["small"]))

    fed = feed_methods((*pinned, methods[1]), model)

    assert fed.ready == ("small",)
    assert fed.skipped == {"open": "dimension 'x.0' has no fixed size; pass dims={'x.0': N}"}
    assert fed.chosen(model)[0].name == "small"
    with pytest.raises(Unsupported, match=r"m\.tflite: dimension 'x\.0'"):
        fed.chosen(Model(path=model.path, method="open"))


def test_inputs_of_several_methods_are_described_under_their_names():
    model = Model(path="m.tflite", inputs={"x": np.ones((1, 3), dtype=np.float32)})

    fed = feed_methods(parse_litert(tflite(signatures=["one", "two"])), model)

    assert list(fed.described()) == ["one.x", "two.x"]


@pytest.mark.parametrize("fields", [{"inputs": {"z": np.ones(1)}}, {"dims": {"z": 1}}])
def test_what_no_method_takes_is_refused_with_what_they_take(fields):
    with pytest.raises(CaseError, match=r"'z'.*one takes x float32"):
        feed_methods(parse_litert(tflite(signatures=["one", "two"])), Model(path="m.tflite", **fields))


@pytest.mark.parametrize("read", [read_litert, read_executorch])
@pytest.mark.parametrize("data", [b"nothing at all", b"", b"\xff\xff\xff\x7fTFL3\xff", b"\xff\xff\xff\x7fET12\xff"])
def test_a_foreign_file_is_told_by_its_name(read, data, tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(data)

    with pytest.raises(CaseError, match=r"model\.bin"):
        read(str(path))


WHOLE = {parse_litert: tflite(signatures=["one"], open_rank=1), parse_executorch: pte()}


@pytest.mark.parametrize("parse", WHOLE)
@given(data=st.data())
def test_a_damaged_file_gives_methods_or_a_value_error_and_nothing_worse(parse, data):
    whole = bytearray(WHOLE[parse])
    whole[data.draw(st.integers(8, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(8, len(whole)))

    with suppress(ValueError):
        assert isinstance(parse(bytes(whole[:cut])), tuple)

"""The workload's fingerprint: equal for equal work everywhere, independent of the code under test."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf.case.digest import Digest
from pytest_devperf.case.fingerprint import describe_inputs, digest_inputs, fingerprint
from pytest_devperf.case.placeholder import replace_prefix
from pytest_devperf.case.workload import Call, Command, Model


@dataclass
class Box:
    left: int
    label: str


class Opaque:
    def __init__(self, secret: int) -> None:
        self.secret = secret


def taken(
    *args: Any, facts: dict[str, object] | None = None, prefixes: dict[str, str] | None = None, **kwargs: Any
) -> str:
    call = Call(function=sorted, args=args, kwargs=kwargs)
    return fingerprint(call, Digest(prefixes), facts=facts or {})


UNLIKE = [
    None,
    True,
    1,
    1.0,
    "1",
    b"1",
    -1,
    2**40,
    10**5000,
    [1],
    [10**5000],
    (1,),
    [[1]],
    ["1"],
    ["1", "1"],
    ["11"],
    ["1", 1],
    {1},
    {"1": 1},
    {1: "1"},
    {"1": 1, "2": 2},
    range(1),
    1j,
    np.array([1]),
    np.array([1], dtype=np.int32),
    np.array([[1]]),
    np.float32(1),
    np.array(["1"], dtype=object),
    Box(1, "1"),
    Box(1, "2"),
    Opaque(1),
]


def test_values_of_another_type_or_content_have_another_digest():
    digests = [Digest().of(value) for value in UNLIKE]

    assert len(set(digests)) == len(UNLIKE)


def test_equal_values_have_equal_digests_however_they_were_made():
    assert taken([3, 1], {"a": 1, "b": 2}) == taken([3, 1], {"b": 2, "a": 1})
    assert taken({"x", "y", "z"}) == taken({"z", "y", "x"})
    assert taken(np.arange(12).reshape(3, 4).T) == taken(np.arange(12).reshape(3, 4).T.copy())
    assert taken(Box(1, "a")) == taken(Box(1, "a"))
    assert taken(bytearray(b"x")) == taken(b"x")


def test_an_object_of_another_class_is_known_by_its_type_alone():
    assert taken(Opaque(1)) == taken(Opaque(2))


def test_an_array_of_objects_is_hashed_by_value_not_by_address():
    first = np.array(["a" * 50, [1]], dtype=object)
    second = np.array(["".join(["a"] * 50), [1]], dtype=object)

    assert taken(first) == taken(second)


def test_a_type_without_a_buffer_is_hashed_too():
    dates = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")

    assert taken(dates) == taken(dates.copy())
    assert taken(dates) != taken(dates[::-1])


def test_hashing_a_container_within_itself_ends():
    loop: list[Any] = [1]
    loop.append(loop)
    again: list[Any] = [1]
    again.append(again)

    assert taken(loop) == taken(again)


def test_hashing_endless_nesting_ends():
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]

    assert taken(deep)


@given(st.lists(st.one_of(st.integers(), st.floats(), st.text(), st.booleans(), st.none())))
def test_a_list_and_its_copy_agree(values):
    assert Digest().of(values) == Digest().of(list(values))


@given(st.lists(st.text(), min_size=2), st.data())
def test_moving_a_text_between_items_is_another_list(values, data):
    joined = ["".join(values)]

    if joined != values:
        assert Digest().of(values) != Digest().of(joined)


def test_the_function_is_under_test_and_not_part_of_the_work():
    one = Call(function=sorted, args=([1],))

    assert fingerprint(one, Digest(), facts={}) == fingerprint(replace(one, function=max), Digest(), facts={})


@pytest.mark.parametrize(
    "other", [{"args": ([2],)}, {"kwargs": {"key": 1}}, {"shape": "stream"}, {"setup": print}, {"sync": print}]
)
def test_other_arguments_or_another_way_of_calling_are_other_work(other):
    one = Call(function=sorted, args=([1],))

    assert fingerprint(one, Digest(), facts={}) != fingerprint(replace(one, **other), Digest(), facts={})


def test_facts_of_the_work_are_part_of_it():
    assert taken(1, facts={"boxes": 12}) != taken(1, facts={"boxes": 13})


def test_a_positional_argument_is_not_a_keyword_argument():
    assert taken(1) != taken(x=1)


def test_a_models_path_is_not_part_of_the_work_but_its_inputs_and_dims_are():
    model = Model(path="/a/model.onnx", dims={"seq": 3})
    facts = {"x": {"shape": [1, 3], "dtype": "float32", "sha256": "aa"}}

    def of(model, input_facts):
        return fingerprint(model, Digest(), facts={}, input_facts=input_facts)

    assert of(model, facts) == of(replace(model, path="/b/other.onnx"), facts)
    assert of(model, facts) == of(replace(model, session_options={"intra_op_num_threads": 1}), facts)
    assert of(model, facts) != of(replace(model, dims={"seq": 4}), facts)
    assert of(model, facts) != of(model, {"x": {**facts["x"], "sha256": "bb"}})


def test_paths_of_this_machine_become_placeholders():
    prefixes = {"/home/me/project": "<rootdir>", "/home/me/project/venv": "<interpreter>", "/tmp": "<tmp>"}
    here = Command(argv=("/home/me/project/venv/bin/python", "--graph=/tmp/m.tflite", "/home/me/project/x"))
    there = Command(argv=("/opt/v/bin/python", "--graph=/var/t/m.tflite", "/ci/x"))
    elsewhere = {"/ci": "<rootdir>", "/opt/v": "<interpreter>", "/var/t": "<tmp>"}

    assert fingerprint(here, Digest(prefixes), facts={}) == fingerprint(there, Digest(elsewhere), facts={})
    assert fingerprint(here, Digest(), facts={}) != fingerprint(there, Digest(), facts={})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/tmp/x", "<tmp>/x"),
        ("/tmp", "<tmp>"),
        ("/tmpfs/x", "/tmpfs/x"),
        ("/var/tmp/x", "/var/tmp/x"),
        ("-o=/tmp/x:/tmp/y", "-o=<tmp>/x:<tmp>/y"),
        ("", ""),
    ],
)
def test_a_prefix_is_replaced_only_as_a_whole_path(text, expected):
    assert replace_prefix(text, "/tmp/", "<tmp>") == expected


def test_paths_in_a_list_of_texts_become_placeholders_after_any_text():
    here = Digest({"/tmp/a": "<tmp>"}).of(["x", "/tmp/a/m", "y"])
    there = Digest({"/var/b/": "<tmp>"}).of(["x", "/var/b/m", "y"])

    assert here == there


def test_an_empty_prefix_replaces_nothing():
    assert replace_prefix("/tmp", "/", "<root>") == "/tmp"


def test_another_process_with_another_hash_seed_finds_the_same():
    script = (
        "from pytest_devperf.case.digest import Digest\n"
        "from pytest_devperf.case.fingerprint import fingerprint\n"
        "from pytest_devperf.case.workload import Call\n"
        "call = Call(function=len, args=({'a', 'b', 'c'}, {'x': 1.5, 'y': [None]}), kwargs={'k': 'v'})\n"
        "print(fingerprint(call, Digest(), facts={'n': 1}))\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }

    assert len(printed) == 1


def test_the_recipe_has_not_changed():
    """A change here makes every stored baseline incomparable: raise RECIPE, and add a fragment for users."""
    call = Call(function=len, args=(1, "a", [1.5, None]), kwargs={"k": {"x": b"y"}})

    assert fingerprint(call, Digest(), facts={"boxes": 12}) == "120597933e5fce54"


def test_no_numpy_is_imported_for_work_without_arrays():
    script = (
        "import sys\nfrom pytest_devperf.case.digest import Digest\n"
        "from pytest_devperf.case.fingerprint import fingerprint\n"
        "from pytest_devperf.case.workload import Call\n"
        "fingerprint(Call(function=len, args=([1],)), Digest(), facts={})\n"
        "print('numpy' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout

    assert printed.strip() == "False"


def test_each_argument_has_its_own_digest():
    first = digest_inputs(Call(function=len, args=([1], 2), kwargs={"key": "k"}), Digest())
    second = digest_inputs(Call(function=len, args=([1], 3), kwargs={"key": "k"}), Digest())

    assert [name for name in first if first[name] != second[name]] == ["argument 1"]
    assert set(first) == {"argument 0", "argument 1", "argument key"}


def test_arrays_are_described_by_shape_type_and_bytes():
    import hashlib

    array = np.arange(6, dtype=np.float32).reshape(2, 3)

    assert describe_inputs({"x": array}) == {
        "x": {"shape": [2, 3], "dtype": "float32", "sha256": hashlib.sha256(array.tobytes()).hexdigest()}
    }


def test_a_strided_array_is_described_by_its_bytes_in_c_order():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)

    assert describe_inputs({"x": array.T})["x"]["sha256"] == describe_inputs({"x": array.T.copy()})["x"]["sha256"]


def test_inputs_other_than_arrays_are_described_by_their_type():
    assert describe_inputs({"n": 3})["n"]["type"] == "int"

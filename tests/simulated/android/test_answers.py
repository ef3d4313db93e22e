"""What a phone answers is checked before anything of it is believed."""

from __future__ import annotations

import pytest

from pytest_devperf.errors import CaseError
from pytest_devperf.targets.android.runner.manifest import parse_output
from pytest_devperf.targets.android.runner.reply import ModelOutput, parse_reply

numpy = pytest.importorskip("numpy")


def test_a_run_and_an_error_are_read() -> None:
    run = parse_reply('{"ns": [120, 118.5], "anchor_ns": [], "cpu_ns": 9, "slept_ns": 2000000, "other": {"a": 1}}')
    failed = parse_reply('{"error": {"stage": "load", "text": "no such file"}}')

    assert run is not None
    assert run.ns == (120, 118.5)
    assert run.slept
    assert failed is not None
    assert failed.error is not None
    assert (failed.error.stage, failed.error.text) == ("load", "no such file")


@pytest.mark.parametrize("line", ["", "WARNING: linker: x", '{"ns": [1', "[" * 100_000, "[]", "5", "null", "\ud800"])
def test_what_others_print_is_no_answer(line: str) -> None:
    assert parse_reply(line) is None


@pytest.mark.parametrize(
    "line",
    [
        '{"ns": [1e300]}',
        '{"ns": [0]}',
        '{"ns": ["5"]}',
        '{"anchor_ns": 5}',
        '{"load_ns": -1}',
        '{"tick_ns": 1e308}',
        f'{{"pid": {"9" * 400}}}',
        '{"peak": 1e30}',
        '{"outputs": [{"name": "x"}]}',
        '{"outputs": [{"name": "x", "kind": "tensor", "shape": [-1]}]}',
        '{"version": 5}',
        f'{{"version": "{"x" * 100_000}"}}',
        '{"watched": [{"name": "policy0", "least": 1e12}]}',
    ],
)
def test_an_answer_that_no_runner_gives_is_refused_in_a_few_words(line: str) -> None:
    with pytest.raises(ValueError, match=r"\$") as refused:
        parse_reply(line)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("dtype", "shape", "data"),
    [("float32", (2,), b"1234567"), ("float32", (3,), bytes(8)), ("string", (2,), b"a\0"), ("int64", (1 << 40,), b"")],
)
def test_an_output_of_another_size_than_declared_is_refused(dtype: str, shape: tuple[int, ...], data: bytes) -> None:
    with pytest.raises(CaseError, match=f"output 'y' has {len(data)} bytes"):
        parse_output(ModelOutput(name="y", kind="tensor", dtype=dtype, shape=shape), data)


@pytest.mark.parametrize("dtype", ["object", "V1000000000", "f4,f4", "float8e4m3fn", "", "int32\n"])
def test_an_element_type_that_is_not_known_comes_as_bytes(dtype: str) -> None:
    array = parse_output(ModelOutput(name="y", kind="tensor", dtype=dtype, shape=(7,)), b"abc")

    assert array.dtype == numpy.uint8
    assert array.tobytes() == b"abc"

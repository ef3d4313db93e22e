"""Output made for this project, and the table of readers."""

from __future__ import annotations

import importlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_devperf.errors import CaseError
from pytest_devperf.metric import LONGEST_NS
from pytest_devperf.tool.output import Output, Value
from pytest_devperf.tool.parse import parse_output
from pytest_devperf.tool.readers import PLACES, READERS
from pytest_devperf.tool.readers.lines import parse_json_lines, parse_lines


@given(st.lists(st.integers(min_value=1, max_value=int(LONGEST_NS)), min_size=1))
def test_every_line_is_one_duration(values):
    assert parse_lines("\r\n".join(map(str, values)) + "\n\n").samples_ns == tuple(values)


@pytest.mark.parametrize("text", ["", "\n", "1.5\n", "-3\n", "12\nms", "١٢"])
def test_a_line_that_is_not_a_whole_number_is_refused(text):
    with pytest.raises(CaseError):
        parse_lines(text)


@given(st.lists(st.floats(min_value=1, max_value=1e12), min_size=1))
def test_json_lines_may_be_mixed_with_log_lines(values):
    text = "".join(f"INFO: run\n{json.dumps({'ns': value})}\n" for value in values)

    assert parse_json_lines(text).samples_ns == tuple(values)


def test_a_peak_a_load_and_values_are_kept_apart():
    text = '{"load_ns": 5}\n{"peak_bytes": 4096}\n{"metric": "x", "value": 1.5, "unit": "1/s", "better": "higher"}\n'

    assert parse_json_lines(text) == Output(
        load_ns=5, peak_bytes=4096, values={"x": Value(value=1.5, unit="1/s", better="higher")}
    )


@pytest.mark.parametrize(
    "line",
    [
        '{"ns": "5"}',
        '{"ns": true}',
        '{"ns": Infinity}',
        '{"ns": 5',
        '{"metric": "x"}',
        '{"metric": "x", "value": 1, "better": "up"}',
    ],
)
def test_a_number_that_is_none_is_refused(line):
    with pytest.raises(CaseError):
        parse_json_lines(line)


SECONDS = Value(value=3, unit="s")


def test_a_value_without_a_unit_gets_the_users_or_is_a_plain_number():
    def read(_text):
        return Output(
            values={"a": Value(value=1, unit=""), "b": Value(value=2, unit=""), "c": Value(value=3, unit="s")}
        )

    output = parse_output("", read, {"a": "MB", "c": "h"})

    assert {name: value.unit for name, value in output.values.items()} == {"a": "MB", "b": "1", "c": "s"}


@pytest.mark.parametrize("name", PLACES)
def test_every_reader_named_is_there(name):
    module, _, function = PLACES[name].partition(":")

    assert READERS[name] is getattr(importlib.import_module(module), function)


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("text", ["", "no such output\n", "{}", "[]", "\x00\xff"])
def test_no_reader_accepts_output_of_another_tool(name, text):
    with pytest.raises(CaseError):
        parse_output(text, name)

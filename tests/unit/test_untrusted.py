"""Foreign text is parsed within bounds, and displayed without control characters."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_devperf.errors import MOST_CHARACTERS, CaseError
from pytest_devperf.metric import is_duration_ns, is_recorded_value, is_size_bytes
from pytest_devperf.untrusted import excerpt, parse_json, parse_json_at, parse_number, parse_whole, printable, shown


@given(value=st.integers(min_value=-(10**18) + 1, max_value=10**18 - 1))
def test_every_number_of_18_digits_is_read(value: int) -> None:
    assert parse_whole(str(value)) == value


@pytest.mark.parametrize("text", [None, "", "-", "1.0", "1_0", " 1", "1\n", "²", "\u0661", "9" * 19, "9" * 5000])
def test_any_other_text_is_not_a_whole_number(text: str | None) -> None:
    assert parse_whole(text) is None


@pytest.mark.parametrize("text", [None, "", "nan", "inf", "-inf", "1e999", "1.2.3", "x"])
def test_any_other_text_is_not_a_finite_number(text: str | None) -> None:
    assert parse_number(text) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(value=JSON)
@settings(deadline=None)
def test_json_is_read_as_pythons_own_reader_reads_it(value: object) -> None:
    text = json.dumps(value)

    assert parse_json(text) == value
    assert parse_json(text.encode()) == value
    assert parse_json_at(f"log {text} log", 4) == (value, 4 + len(text))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "", "{", "[1,]", b"\xff", "x"])
def test_invalid_json_raises_the_same_error_at_any_depth(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_an_integer_too_long_for_64_bits_is_a_float() -> None:
    assert parse_json(f"[{'9' * 17}, {'9' * 40}, {'9' * 450}]") == [10**17 - 1, 1e40, float("inf")]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300, 1e-300, 0, -1, True, "1", None, 10**450])
def test_a_duration_that_nothing_takes_is_none(value: object) -> None:
    assert not is_duration_ns(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300, 1e-300, 10**450, True, "1", None])
def test_a_value_that_nothing_records_is_none(value: object) -> None:
    assert not is_recorded_value(value)


@pytest.mark.parametrize("value", [float("nan"), -1, 1e30, 10**450, True, "1", None])
def test_a_size_that_no_machine_has_is_none(value: object) -> None:
    assert not is_size_bytes(value)


@given(text=st.text())
def test_only_printable_characters_reach_a_terminal(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(text) == text or not text.isprintable()


@given(text=st.text(), most=st.integers(min_value=10, max_value=40))
def test_an_excerpt_is_short_and_keeps_both_ends(text: str, most: int) -> None:
    cut = excerpt(text, most)

    assert len(cut) <= most
    assert cut == text or (text.startswith(cut.partition(" ... ")[0]) and text.endswith(cut.rpartition(" ... ")[2]))


class _Silent:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_a_value_without_a_repr_is_shown_by_its_type() -> None:
    assert shown(_Silent()) == "a value of type _Silent"
    assert len(shown("x" * 10**6)) < 400


def test_an_error_shows_no_escapes_and_no_file_as_a_whole() -> None:
    error = CaseError("\x1b[2Jfile \u202e" + "x" * 10**6, "first line\nsecond \x07line")

    assert "\\x1b[2Jfile \\u202e" in str(error)
    assert error.next_step == "first line\nsecond \\x07line"
    assert all(part.isprintable() for part in str(error).split("\n"))
    assert len(error.what) <= MOST_CHARACTERS + 20

"""Inputs that keep the format of a parser: JSON with other values, lines with other words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from benchmarks.fuzz.parsers import PARSERS, Parser
from benchmarks.fuzz.trial import Tally, try_input

EXAMPLES = 25
"""Inputs for each parser and test run: `python -m benchmarks.fuzz` tries the many."""

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**450), 10**450)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["", "1e999", "NaN", "\x1b[2J", "../x", "9" * 450])
)

VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
)

WORDS = st.floats() | st.sampled_from(["", "-1", "9" * 450, "1e999", "0x7", "1_0"]) | st.text(max_size=9)

NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")


def replaced(draw: st.DrawFn, value: Any) -> Any:
    """Put another value in one place of a JSON value."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: replaced(draw, value[key])}
    if isinstance(value, list) and value and draw(st.booleans()):
        at = draw(st.integers(0, len(value) - 1))
        return [*value[:at], replaced(draw, value[at]), *value[at + 1 :]]
    return draw(VALUES)


@st.composite
def inputs(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """Make an input of a seed's form."""
    seed = draw(st.sampled_from(seeds))
    try:
        document = json.loads(seed)
    except ValueError:
        return with_other_numbers(draw, seed)
    return json.dumps(replaced(draw, document)).encode("utf-8", "surrogatepass")


def with_other_numbers(draw: st.DrawFn, seed: bytes) -> bytes:
    """Put other scalars in the place of up to three numbers of a text."""
    text = seed.decode("latin-1")
    found = list(NUMBER.finditer(text))
    chosen = draw(st.lists(st.sampled_from(found), max_size=3, unique_by=re.Match.start)) if found else []
    for number in sorted(chosen, key=re.Match.start, reverse=True):
        word = str(
            draw(st.floats() | st.sampled_from(["", "-1", "9" * 450, "1e999", "0x7", "1_0"]) | st.text(max_size=9))
        )
        text = text[: number.start()] + word + text[number.end() :]
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("parser", PARSERS, ids=[parser.name for parser in PARSERS])
def test_a_parser_raises_nothing_foreign_on_inputs_of_its_form(parser: Parser) -> None:
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs(parser.seeds))
    def check(data: bytes) -> None:
        assert try_input(parser, data, Tally(parser.name)) is None

    check()

"""Parse the table of operators that `benchmark_model --enable_op_profiling=true` prints."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.tool.operators import Operator, OperatorReader
from pytest_devperf.tool.readers.benchmark_model import parse_benchmark_model
from pytest_devperf.untrusted import parse_number

HEADING = "Operator-wise Profiling Info for Regular Benchmark Runs:"
"""Line before the tables of the recorded runs; those of the initialisation have another one.

Source: tensorflow/lite/tools/benchmark/profiling_listener.cc.
"""

IN_ORDER, SORTED = " Run Order ", " Top by Computation Time "
"""Titles of the table in the order of execution, and of the one after it.

Source: tensorflow/core/util/stats_calculator.cc, whose columns changed: older builds print `[start]` between tabs,
newer ones do not, and separate the columns by blanks.
"""

COLUMN = re.compile(r"\[([^\[\]]+)\]")
"""A column of the heading: `[avg ms]`."""

TYPE, AVERAGE, CALLED, NAME = "node type", "avg ms", "times called", "Name"

MOST_COLUMNS = 32
"""Columns of a heading: the tool prints nine, and a line is searched for all of them at every word."""

PLACE = re.compile(r":[0-9]{1,9}$")
"""Index of a node at the end of its name: it moves with every edit."""


def parse_operators(text: str) -> Sequence[Operator]:
    """Parse the operators in the order of execution, with their time in one inference; empty if there is no table.

    The printed average is that of one call: an operator that is called 13 times in an inference takes 13 times as long.
    """
    _, heading, rest = text.rpartition(HEADING)
    table = rest.partition(IN_ORDER)[2].partition(SORTED)[0] if heading else ""
    columns: list[str] = []
    operators = []
    for line in table.splitlines():
        if not columns:
            columns = _columns(line)
            continue
        found = _operator(line.split(), columns)
        if found is not None:
            operators.append(found)
    return operators


def _columns(line: str) -> list[str]:
    """Parse the heading of a table; empty if the line is none."""
    columns = COLUMN.findall(line)
    known = {TYPE, AVERAGE, CALLED, NAME} <= set(columns) and columns[0] == TYPE and columns[-1] == NAME
    return columns if known and len(columns) <= MOST_COLUMNS else []


def _operator(words: Sequence[str], columns: Sequence[str]) -> Operator | None:
    """Parse a line; types and names may hold blanks, so the numbers between them are found first."""
    count = len(columns) - 2
    for at in range(1, len(words) - count):
        numbers = [parse_number(word.removesuffix("%")) for word in words[at : at + count]]
        if None in numbers:
            continue
        values = dict(zip(columns[1:-1], numbers, strict=True))
        calls = max(1.0, values[CALLED] or 0.0)  # some builds print zero
        kind, name = " ".join(words[:at]), " ".join(words[at + count :])
        return Operator(kind, _name(name, kind), max(0.0, values[AVERAGE] or 0.0) * calls * NS_PER_MS, calls)
    return None


def _name(name: str, kind: str) -> str:
    """Shorten the name of a node to what outlives an edit elsewhere.

    >>> _name("[model/relu;model/conv, other]:17", "CONV_2D"), _name("Delegate/Softmax (NC):3", "Softmax (NC)")
    ('model/relu', '')
    """
    plain = PLACE.sub("", name)
    if plain in {kind, f"Delegate/{kind}"}:
        return ""
    return re.split("[;,]", plain.removeprefix("[").removesuffix("]"), maxsplit=1)[0].strip()


READER = OperatorReader(
    parse=parse_benchmark_model, parse_operators=parse_operators, options=("--enable_op_profiling=true",)
)
"""The reader `benchmark_model`, which also explains."""

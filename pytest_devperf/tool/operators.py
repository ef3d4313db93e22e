"""Readers that also know where the time of a program goes: the table of its operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_devperf.errors import CaseError
from pytest_devperf.metric import LONGEST_NS
from pytest_devperf.tool.extract import refuse
from pytest_devperf.untrusted import shown

MOST_OPERATORS = 10_000
"""Operators of a table: the largest public models have a few thousand."""


class Operator(NamedTuple):
    """An operator that a program executed, in the order of execution."""

    kind: str
    """What it does: `CONV_2D`."""
    name: str
    """Which one it is, the same before and after an edit elsewhere; empty if only its place distinguishes it."""
    time_ns: float
    """Its own time in one iteration."""
    calls: float = 1.0
    """How often it is executed in one iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorReader:
    """A reader that also reads the table of a program's operators, so that a change can be explained.

    It is passed to `devperf.command(read=…)` like any reader.
    """

    parse: Callable[[str], Any]
    """Converts the output to an `Output`, or to ns per iteration."""
    parse_operators: Callable[[str], Sequence[Operator]]
    """Converts the output of a start with `options` to operators; empty if it contains no table."""
    options: tuple[str, ...] = ()
    """What is added to the arguments of the program, in starts that measure nothing, so that it prints its table."""

    def __call__(self, text: str) -> Any:  # noqa: ANN401 - whatever `parse` returns
        """Parse the output of a start that is measured."""
        return self.parse(text)


def read_operators(text: str, reader: OperatorReader) -> tuple[Operator, ...]:
    """Read the operators of a program; empty if it printed no table.

    Raises:
        CaseError: The reader failed, or returned something else.
    """
    try:
        operators = tuple(Operator(*each) for each in reader.parse_operators(text))
        absurd = next((each for each in operators if not 0 <= each.time_ns <= LONGEST_NS or each.calls <= 0), None)
    except CaseError:
        raise
    except Exception as error:  # noqa: BLE001 - a plugin's reader may raise anything
        refuse("the command", f"gives no operators ({type(error).__name__}: {error})", text, "fix the reader")
    if absurd is not None:
        refuse("the command", f"contains the operator {shown(absurd)}, which is implausible", text, "fix the reader")
    return operators[:MOST_OPERATORS]

"""Helpers of the parse functions: find JSON and numbers in text, and refuse other output."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NoReturn, TypeVar

from pytest_devperf.errors import CaseError
from pytest_devperf.metric import is_duration_ns, is_size_bytes
from pytest_devperf.tool.output import Output, Value
from pytest_devperf.untrusted import excerpt, last_lines, parse_json_at

Parsed = TypeVar("Parsed")

BYTES_PER_MB = 1_048_576
"""Tools that print MB mean 2**20 bytes: they divide the kernel's kB by 1024."""

SHOWN_LINES = 5
"""Lines of an unreadable output that a message shows: enough to see a usage message or a crash."""

NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
"""A number in the format of C++ streams and printf, also `1.23e+06`.

No two adjacent repetitions can match the same digits: `\\d+\\.?\\d*` takes quadratic time if nothing matches
after it.
"""

MOST_BEGINNINGS = 100
"""Lines that may look like the beginning of a JSON document without being one: logs before a document have a few of
them, and each costs a pass over the whole text.
"""

_BEGINNING = re.compile(r"^[ \t]*(?=\{\s*[\"}]|\[\s*\{)", re.MULTILINE)
"""The beginning of a line that starts with an object or a list of objects."""


def refuse(tool: str, why: str, text: str, next_step: str) -> NoReturn:
    """Raise the error for output that is not from this tool.

    Args:
        tool: Name of the tool.
        why: What is wrong with the output.
        text: The output; its last lines are shown.
        next_step: What the user should do.

    Raises:
        CaseError: Always.
    """
    shown = " | ".join(last_lines(text, SHOWN_LINES))
    ended = f"it ended with: {shown}" if shown else "it is empty"
    raise CaseError(f"the output of {tool} {excerpt(why)} ({ended})", next_step)


def guarded(tool: str, next_step: str) -> Callable[[Callable[[str], Parsed]], Callable[[str], Parsed]]:
    """Decorate a parser of JSON so that an unexpected structure raises a CaseError."""

    def guard(parse: Callable[[str], Parsed]) -> Callable[[str], Parsed]:
        @wraps(parse)
        def parse_or_refuse(text: str) -> Parsed:
            try:
                return parse(text)
            except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                refuse(tool, f"has an unexpected structure ({type(error).__name__}: {error})", text, next_step)

        return parse_or_refuse

    return guard


def json_in(text: str, tool: str, next_step: str) -> Any:  # noqa: ANN401 - any JSON value
    """Find the JSON document in a text that may contain a log before or after it.

    Raises:
        CaseError: It contains none, or the document is cut off.
    """
    broken_at = 0
    for tried, begins in enumerate(_BEGINNING.finditer(text)):
        start = begins.end()
        if start < broken_at:
            continue  # inside a document that is cut off later
        try:
            return parse_json_at(text, start)[0]
        except json.JSONDecodeError as error:
            broken_at = max(error.pos, start + 1)
        except ValueError:
            broken_at = len(text)
        if tried >= MOST_BEGINNINGS:
            break
    refuse(tool, "contains JSON that is cut off or damaged" if broken_at else "contains no JSON", text, next_step)


def durations_ns(values: Iterable[object], unit_ns: float, tool: str, text: str) -> tuple[float, ...]:
    """Convert a tool's durations to ns.

    Raises:
        CaseError: One is not a number, zero, negative, or implausibly long.
    """
    made = []
    for value in values:
        number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
        time_ns = number * unit_ns
        if not is_duration_ns(time_ns):
            refuse(
                tool,
                f"contains the duration {value!r}",
                text,
                "make each iteration do more work, and check the unit",
            )
        made.append(time_ns)
    return tuple(made)


def other_time_ns(value: float | None, unit_ns: float) -> float | None:
    """Convert a time that a tool prints in addition to its iterations; None if it is missing or zero."""
    time_ns = None if value is None else value * unit_ns
    return time_ns if is_duration_ns(time_ns) else None


def peak_bytes(value: float | None, unit_bytes: int = 1) -> int | None:
    """Convert a peak of memory; None if it is missing or zero, which tools print if they do not know it."""
    size = None if value is None else value * unit_bytes
    return round(size) if is_size_bytes(size) and size > 0 else None


def distinct(names: Iterable[str]) -> list[str]:
    """Number equal names from the second one on, so that no series replaces another.

    >>> distinct(["pp512", "tg128", "pp512", "pp512"])
    ['pp512', 'tg128', 'pp512 #2', 'pp512 #3']
    """
    taken: set[str] = set()
    last: dict[str, int] = {}
    made = []
    for name in names:
        own = name
        while own in taken:
            last[name] = last.get(name, 1) + 1
            own = f"{name} #{last[name]}"
        taken.add(own)
        made.append(own)
    return made


def output_of(
    names: Sequence[str], series: Sequence[tuple[float, ...]], values: Mapping[str, Value] | None = None
) -> Output:
    """Build an output from series: a single one becomes the samples; several keep their names, numbered if equal."""
    if len(series) == 1:
        return Output(samples_ns=series[0], values=dict(values or {}))
    return Output(series_ns=dict(zip(distinct(names), series, strict=True)), values=dict(values or {}))

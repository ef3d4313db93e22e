"""What the readers of tools share: finding JSON and numbers in their text, and refusing what isn't theirs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, NoReturn

from pytest_devperf.errors import CaseError
from pytest_devperf.tool.output import Output, Value

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

BYTES_PER_MB = 1_048_576
"""Tools that print MB count in binary ones: they divide the kernel's kB by 1024."""

LAST_LINES = 5
"""Lines of a text that are shown where it cannot be read: enough to see a usage message or a crash."""

LINE_WIDTH = 160
"""Characters of a line that are shown."""

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
"""A number as C++ streams and printf write it, `1.23e+06` too."""


def refuse(tool: str, why: str, text: str, next_step: str) -> NoReturn:
    """Raise the error of a text that this tool did not write.

    Args:
        tool: Name of the tool.
        why: What is wrong with its output.
        text: The output; its last lines are shown.
        next_step: What the user does about it.

    Raises:
        CaseError: Always.
    """
    lines = [line.rstrip()[:LINE_WIDTH] for line in text.splitlines() if line.strip()]
    shown = " | ".join(lines[-LAST_LINES:])
    ended = f"it ended with: {shown}" if shown else "it is empty"
    raise CaseError(f"the output of {tool} {why} ({ended})", next_step)


def guarded(tool: str, next_step: str) -> Callable[[Callable[[str], Output]], Callable[[str], Output]]:
    """Make a reader of JSON refuse what isn't shaped as its tool's, whatever it trips over."""

    def around(parse: Callable[[str], Output]) -> Callable[[str], Output]:
        @wraps(parse)
        def parse_or_refuse(text: str) -> Output:
            try:
                return parse(text)
            except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
                refuse(tool, f"is shaped otherwise ({type(error).__name__}: {error})", text, next_step)

        return parse_or_refuse

    return around


def json_in(text: str, tool: str, next_step: str) -> Any:  # noqa: ANN401 - whatever the tool wrote
    """Find the JSON document in a text that may have a log before or after it.

    Raises:
        CaseError: There is none, or it is cut off.
    """
    decoder = json.JSONDecoder()
    cut = False
    at = 0
    for line in text.splitlines(keepends=True):
        start = at + len(line) - len(line.lstrip())
        at += len(line)
        if text[start : start + 1] not in ("{", "["):
            continue
        try:
            found, _ = decoder.raw_decode(text, start)
        except json.JSONDecodeError:
            cut = True
            continue
        if isinstance(found, dict) or (isinstance(found, list) and found and isinstance(found[0], dict)):
            return found
    refuse(tool, "holds JSON that is cut off or damaged" if cut else "holds no JSON", text, next_step)


def durations_ns(values: Iterable[object], unit_ns: float, tool: str, text: str) -> tuple[float, ...]:
    """Turn a tool's durations into ns.

    Raises:
        CaseError: One is no number, NaN, zero or negative.
    """
    made = []
    for value in values:
        number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
        time_ns = number * unit_ns
        if not 0 < time_ns < math.inf:
            refuse(
                tool, f"holds the duration {value!r}", text, "a duration is a number above zero: measure more at once"
            )
        made.append(time_ns)
    return tuple(made)


def output_of(series: Mapping[str, tuple[float, ...]], values: Mapping[str, Value] | None = None) -> Output:
    """Make an output of named series: a single one is the tool's samples, several keep their names."""
    if len(series) == 1:
        (samples,) = series.values()
        return Output(samples_ns=samples, values=dict(values or {}))
    return Output(series_ns=dict(series), values=dict(values or {}))

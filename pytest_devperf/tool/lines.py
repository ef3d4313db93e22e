"""Output made for this project: durations line by line, or JSON objects line by line."""

from __future__ import annotations

import json
import math
from typing import Any

from pytest_devperf.errors import CaseError
from pytest_devperf.tool.output import Output, Value
from pytest_devperf.tool.reading import refuse

LINES_NEXT = "print one whole number of ns per line, or name another reader with read="
JSON_NEXT = 'print one JSON object per line: {"ns": 1200}'


def parse_lines(text: str) -> Output:
    r"""Read one whole number of ns per line; blank lines are skipped.

    >>> parse_lines("1200\n1180\n").samples_ns
    (1200, 1180)

    Raises:
        CaseError: A line is anything else, or there is none.
    """
    samples_ns: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.strip()
        if not word:
            continue
        if not (word.isascii() and word.isdigit()):
            refuse("the command", f"has no number in line {number}: {word[:80]!r}", text, LINES_NEXT)
        samples_ns.append(int(word))
    if not samples_ns:
        refuse("the command", "has no line", text, LINES_NEXT)
    return Output(samples_ns=tuple(samples_ns))


def parse_json_lines(text: str) -> Output:
    """Read one JSON object per line; lines that begin with no brace are the tool's own log.

    `{"ns": 1200}` is an iteration, `{"ns": 300, "metric": "decode"}` one of a further series,
    `{"load_ns": 5000}` the load, `{"metric": "boxes", "value": 12, "unit": "1", "better": "higher"}` a value,
    `{"peak_bytes": 4096}` the peak memory. Objects with none of these keys are skipped.

    Raises:
        CaseError: A line that begins with a brace is no JSON object, or a number is none.
    """
    samples_ns: list[float] = []
    series_ns: dict[str, list[float]] = {}
    values: dict[str, Value] = {}
    single: dict[str, float] = {}
    for number, entry in _objects(text):
        if "ns" in entry:
            into = series_ns.setdefault(str(entry["metric"]), []) if "metric" in entry else samples_ns
            into.append(_number(entry, "ns", number))
        elif "metric" in entry:
            values[str(entry["metric"])] = _value(entry, number)
        single.update({key: _number(entry, key, number) for key in ("load_ns", "peak_bytes") if key in entry})
    peak = single.get("peak_bytes")
    return Output(
        samples_ns=tuple(samples_ns),
        load_ns=single.get("load_ns"),
        series_ns={name: tuple(series) for name, series in series_ns.items()},
        values=values,
        peak_bytes=None if peak is None else int(peak),
    )


def _objects(text: str) -> list[tuple[int, dict[str, Any]]]:
    found: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("{"):
            continue
        try:
            found.append((number, json.loads(line)))
        except ValueError:
            refuse("the command", f"has no JSON object in line {number}", text, JSON_NEXT)
    return found


def _number(entry: dict[str, Any], key: str, line: int) -> float:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise CaseError(f"line {line}: {key!r} is {value!r}", "it takes a finite number")
    return value


def _value(entry: dict[str, Any], line: int) -> Value:
    better = entry.get("better", "lower")
    if better not in ("lower", "higher"):
        raise CaseError(f"line {line}: 'better' is {better!r}", "it is 'lower' or 'higher'")
    return Value(value=_number(entry, "value", line), unit=str(entry.get("unit") or ""), better=better)

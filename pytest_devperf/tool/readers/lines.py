"""Parse output written for this project: one duration or one JSON object per line."""

from __future__ import annotations

from typing import Any

from pytest_devperf.errors import CaseError
from pytest_devperf.metric import is_duration_ns, is_recorded_value, is_size_bytes
from pytest_devperf.tool.extract import refuse
from pytest_devperf.tool.output import Output, Value
from pytest_devperf.untrusted import parse_json, parse_whole, shown

LINES_NEXT = (
    "print one whole number of ns per line, name another reader with read=, "
    'or have the program timed as a whole with read="time"'
)
JSON_NEXT = 'print one JSON object per line: {"ns": 1200}'


def parse_lines(text: str) -> Output:
    r"""Parse one whole number of ns per line; blank lines are skipped.

    >>> parse_lines("1200\n1180\n").samples_ns
    (1200, 1180)

    Raises:
        CaseError: A line is anything else, or there are no lines.
    """
    samples_ns: list[float] = []
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.strip()
        if not word:
            continue
        sample_ns = parse_whole(word)
        if not is_duration_ns(sample_ns):
            refuse("the command", f"has no duration in line {number}: {word[:80]!r}", text, LINES_NEXT)
        samples_ns.append(sample_ns)
    if not samples_ns:
        refuse("the command", "has no line", text, LINES_NEXT)
    return Output(samples_ns=tuple(samples_ns))


def parse_json_lines(text: str) -> Output:
    """Parse one JSON object per line; lines that do not begin with a brace are the tool's own log.

    `{"ns": 1200}` is an iteration, `{"ns": 300, "metric": "decode"}` an iteration of another series,
    `{"load_ns": 5000}` the load, `{"metric": "boxes", "value": 12, "unit": "1", "better": "higher"}` a value,
    `{"peak_bytes": 4096}` the peak memory. Objects without any of these keys are skipped.

    Raises:
        CaseError: A line that begins with a brace is not a JSON object, or a number is invalid or implausible.
    """
    samples_ns: list[float] = []
    series_ns: dict[str, list[float]] = {}
    values: dict[str, Value] = {}
    load_ns: float | None = None
    peak_bytes: int | None = None
    for number, entry in _objects(text):
        if "ns" in entry:
            into = series_ns.setdefault(str(entry["metric"]), []) if "metric" in entry else samples_ns
            into.append(_duration_ns(entry, "ns", number))
        elif "metric" in entry:
            values[str(entry["metric"])] = _value(entry, number)
        if "load_ns" in entry:
            load_ns = _duration_ns(entry, "load_ns", number)
        if "peak_bytes" in entry:
            peak_bytes = _size_bytes(entry, "peak_bytes", number)
    return Output(
        samples_ns=tuple(samples_ns),
        load_ns=load_ns,
        series_ns={name: tuple(series) for name, series in series_ns.items()},
        values=values,
        peak_bytes=peak_bytes,
    )


def _objects(text: str) -> list[tuple[int, dict[str, Any]]]:
    found: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("{"):
            continue
        try:
            found.append((number, parse_json(line)))
        except ValueError:
            refuse("the command", f"has no JSON object in line {number}", text, JSON_NEXT)
    return found


def _duration_ns(entry: dict[str, Any], key: str, line: int) -> float:
    value = entry.get(key)
    if not is_duration_ns(value):
        raise _wrong(entry, key, line, "pass a finite number of ns above zero")
    return value


def _size_bytes(entry: dict[str, Any], key: str, line: int) -> int:
    value = entry.get(key)
    if not is_size_bytes(value):
        raise _wrong(entry, key, line, "pass a finite number of bytes")
    return int(value)


def _value(entry: dict[str, Any], line: int) -> Value:
    value, better = entry.get("value"), entry.get("better", "lower")
    if better not in ("lower", "higher"):
        raise _wrong(entry, "better", line, "pass 'lower' or 'higher'")
    if not is_recorded_value(value):
        raise _wrong(entry, "value", line, "pass a finite number")
    return Value(value=value, unit=str(entry.get("unit") or ""), better=better)


def _wrong(entry: dict[str, Any], key: str, line: int, next_step: str) -> CaseError:
    return CaseError(f"line {line}: {key!r} is {shown(entry.get(key))}", next_step)

"""Parse the output of a tool with one of the readers, or with a user's function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_devperf.errors import CaseError
from pytest_devperf.metric import is_duration_ns, is_recorded_value, is_size_bytes
from pytest_devperf.tool.extract import refuse
from pytest_devperf.tool.operators import OperatorReader
from pytest_devperf.tool.output import Output
from pytest_devperf.tool.readers import READERS
from pytest_devperf.untrusted import shown

NO_UNIT = "1"
"""Unit of a plain number."""


def reader_of(read: str | Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the function that parses an output.

    Raises:
        CaseError: No reader has that name.
    """
    if not isinstance(read, str):
        return read
    if read not in READERS:
        raise CaseError(
            f"unknown reader {read!r}",
            f"pass a function text -> samples, 'time' for the wall time of each start, or one of {', '.join(READERS)}",
        )
    return READERS[read]


def reads_operators(read: str | Callable[[str], Any]) -> bool:
    """Return whether a reader also reads the table of a program's operators."""
    return isinstance(read if not isinstance(read, str) else READERS.get(read), OperatorReader)


def parse_output(text: str, read: str | Callable[[str], Any], units: Mapping[str, str] | None = None) -> Output:
    """Parse the output of a tool.

    Args:
        text: The complete output.
        read: A reader's name, or a function that takes the text and returns an `Output` or ns per iteration.
        units: Units of the values for which the output names none.

    Raises:
        CaseError: It cannot be parsed, or contains no result.
    """
    reader = reader_of(read)
    try:
        output = as_output(reader(text))
    except CaseError:
        raise
    except Exception as error:  # noqa: BLE001 - a user's reader may raise anything
        name = read if isinstance(read, str) else getattr(read, "__qualname__", "the reader")
        refuse("the command", f"cannot be read by {name} ({type(error).__name__}: {error})", text, "fix the reader")
    if not (output.samples_ns or output.series_ns or output.values):
        refuse("the command", "contains no duration and no value", text, "check what it printed")
    absurd = next(_absurd(output), None)
    if absurd is not None:
        refuse("the command", f"contains {absurd}, which is implausible", text, "check its unit, and the reader")
    values = {
        name: value if value.unit else replace(value, unit=(units or {}).get(name, NO_UNIT))
        for name, value in output.values.items()
    }
    return replace(output, values=values)


def _absurd(output: Output) -> Iterator[str]:
    """Describe each number that is not a plausible duration, size or value."""
    for name, series in {"the samples": output.samples_ns, **output.series_ns}.items():
        yield from (f"the duration {shown(time)} in {name}" for time in series if not is_duration_ns(time))
    for name, each in output.values.items():
        if not is_recorded_value(each.value):
            yield f"the value {shown(each.value)} of {name}"
    if output.load_ns is not None and not is_duration_ns(output.load_ns):
        yield f"a load of {shown(output.load_ns)} ns"
    if output.peak_bytes is not None and not is_size_bytes(output.peak_bytes):
        yield f"a peak of {shown(output.peak_bytes)} bytes"


def as_output(given: object) -> Output:
    """Return an `Output` unchanged, and convert a sequence of ns per iteration.

    Raises:
        CaseError: It is neither.
    """
    if isinstance(given, Output):
        return given
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        samples_ns = tuple(given)
        if all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in samples_ns):
            return Output(samples_ns=samples_ns)
    raise CaseError(
        f"the reader returned {type(given).__qualname__}", "return an Output, or a sequence of ns, one per iteration"
    )

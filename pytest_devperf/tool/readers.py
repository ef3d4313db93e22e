"""Choose the parse function for a tool's output."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_devperf.errors import CaseError
from pytest_devperf.metric import is_duration_ns, is_recorded_value, is_size_bytes
from pytest_devperf.tool.output import Output
from pytest_devperf.tool.reading import refuse
from pytest_devperf.untrusted import shown

Reader = Callable[[str], Output]

PLACES: Mapping[str, str] = {
    "lines": "pytest_devperf.tool.lines:parse_lines",
    "json-lines": "pytest_devperf.tool.lines:parse_json_lines",
    "benchmark_model": "pytest_devperf.tool.benchmark_model:parse_benchmark_model",
    "onnxruntime_perf_test": "pytest_devperf.tool.onnxruntime_perf_test:parse_onnxruntime_perf_test",
    "google-benchmark": "pytest_devperf.tool.google_benchmark:parse_google_benchmark",
    "llama-bench": "pytest_devperf.tool.llama_bench:parse_llama_bench",
    "benchncnn": "pytest_devperf.tool.benchncnn:parse_benchncnn",
    "mnn": "pytest_devperf.tool.mnn:parse_mnn",
    "executor_runner": "pytest_devperf.tool.executor_runner:parse_executor_runner",
    "androidx": "pytest_devperf.tool.androidx:parse_androidx",
    "trtexec": "pytest_devperf.tool.trtexec:parse_trtexec",
    "hyperfine": "pytest_devperf.tool.hyperfine:parse_hyperfine",
}
"""`read=` name -> module and function; the module is imported when its name is first used."""

NO_UNIT = "1"
"""Unit of a plain number."""


class _Readers(Mapping[str, Reader]):
    """The parse functions by name, imported on first use."""

    def __getitem__(self, name: str) -> Reader:
        module, _, function = PLACES[name].partition(":")
        reader: Reader = getattr(importlib.import_module(module), function)
        return reader

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


READERS: Mapping[str, Reader] = _Readers()


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

"""LiteRT's and TensorFlow Lite's `benchmark_model`, on stdout or in the log of its app."""

from __future__ import annotations

import re

from pytest_devperf.metric import NS_PER_MS, NS_PER_US
from pytest_devperf.tool.output import Output, Value
from pytest_devperf.tool.reading import BYTES_PER_MB, NUMBER, durations_ns, other_time_ns, peak_bytes, refuse

TOOL = "benchmark_model"

TIMINGS = re.compile(r"(?:Average i|I)nference timings in us:(.*)")
"""The line of results; logcat and `INFO:` stand before it.

Source:
    tensorflow/lite/tools/benchmark/benchmark_tflite_model.cc and benchmark_model.cc (BenchmarkLoggingListener),
    whose wording changed twice: `Warmup: …, Init: …, no stats: …`, then `…, Inference: …`, then
    `Init: …, First inference: …, Warmup (avg): …, Inference (avg): …`.
"""

FIELD = re.compile(rf"({NUMBER})")
"""What stands behind a field's name; a unit may follow it."""

AVERAGE = ("Inference (avg)", "Inference", "no stats")
"""Names of the average over the recorded runs, newest first."""

PEAK = (
    re.compile(rf"Overall peak memory footprint \(MB\) via periodic monitoring: ({NUMBER})"),
    re.compile(rf"Peak memory footprint \(MB\): init={NUMBER} overall=({NUMBER})"),
    re.compile(rf"Memory footprint delta from the start of the tool \(MB\): init={NUMBER} overall=({NUMBER})"),
)
"""Three spellings of memory; where several are printed the whole process's peak is taken before the delta."""


def parse_benchmark_model(text: str) -> Output:
    """Read the average: one sample for each start of the tool.

    Raises:
        CaseError: There is no line of timings.
    """
    lines = TIMINGS.findall(text)
    # The last line counts: a log may still hold an earlier run.
    fields = _fields(lines[-1]) if lines else {}
    average = next((fields[name] for name in AVERAGE if name in fields), None)
    if average is None:
        refuse(TOOL, "has no line 'Inference timings in us:'", text, "see that it found its --graph and ran to its end")
    first_ns = other_time_ns(fields.get("First inference"), NS_PER_US)
    return Output(
        samples_ns=durations_ns([average], NS_PER_US, TOOL, text),
        load_ns=other_time_ns(fields.get("Init"), NS_PER_US),
        values={} if first_ns is None else {"first_inference": Value(value=first_ns / NS_PER_MS, unit="ms")},
        peak_bytes=_peak_bytes(text),
    )


def _fields(line: str) -> dict[str, float]:
    """Read `Init: 912, First inference: 1404, …`, in microseconds."""
    pairs = (part.partition(": ")[::2] for part in line.split(","))
    found = ((name.strip(), FIELD.match(value.strip())) for name, value in pairs)
    return {name: float(number[1]) for name, number in found if number is not None}


def _peak_bytes(text: str) -> int | None:
    """Read the peak in the first spelling that holds one."""
    printed = (spelling.findall(text) for spelling in PEAK)
    peaks = (peak_bytes(float(found[-1]), BYTES_PER_MB) for found in printed if found)
    return next((peak for peak in peaks if peak is not None), None)

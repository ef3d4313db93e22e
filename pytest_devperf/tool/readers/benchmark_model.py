"""Parse the output of LiteRT's and TensorFlow Lite's `benchmark_model`, from stdout or the log of its app."""

from __future__ import annotations

import re

from pytest_devperf.metric import NS_PER_MS, NS_PER_US
from pytest_devperf.tool.extract import BYTES_PER_MB, NUMBER, durations_ns, other_time_ns, peak_bytes, refuse
from pytest_devperf.tool.output import Output, Value

TOOL = "benchmark_model"

TIMINGS = re.compile(r"(?:Average i|I)nference timings in us:(.*)")
"""The line with the results; logcat and `INFO:` add a prefix.

Source:
    tensorflow/lite/tools/benchmark/benchmark_tflite_model.cc and benchmark_model.cc (BenchmarkLoggingListener),
    whose format changed twice: `Warmup: …, Init: …, no stats: …`, then `…, Inference: …`, then
    `Init: …, First inference: …, Warmup (avg): …, Inference (avg): …`.
"""

FIELD = re.compile(rf"({NUMBER})")
"""The number after a field's name; a unit may follow."""

AVERAGE = ("Inference (avg)", "Inference", "no stats")
"""Names of the average over the recorded runs, newest first."""

PEAK = (
    re.compile(rf"Overall peak memory footprint \(MB\) via periodic monitoring: ({NUMBER})"),
    re.compile(rf"Peak memory footprint \(MB\): init={NUMBER} overall=({NUMBER})"),
    re.compile(rf"Memory footprint delta from the start of the tool \(MB\): init={NUMBER} overall=({NUMBER})"),
)
"""Three formats of memory; if several are printed, the peak of the whole process takes precedence over the delta."""


def parse_benchmark_model(text: str) -> Output:
    """Parse the average: one sample for each start of the tool.

    Raises:
        CaseError: It contains no line of timings.
    """
    lines = TIMINGS.findall(text)
    # Use the last line: a log may still contain an earlier run.
    fields = _fields(lines[-1]) if lines else {}
    average = next((fields[name] for name in AVERAGE if name in fields), None)
    if average is None:
        refuse(TOOL, "has no line 'Inference timings in us:'", text, "check that it found its --graph and finished")
    first_ns = other_time_ns(fields.get("First inference"), NS_PER_US)
    return Output(
        samples_ns=durations_ns([average], NS_PER_US, TOOL, text),
        load_ns=other_time_ns(fields.get("Init"), NS_PER_US),
        values={} if first_ns is None else {"first_inference": Value(value=first_ns / NS_PER_MS, unit="ms")},
        peak_bytes=_peak_bytes(text),
    )


def _fields(line: str) -> dict[str, float]:
    """Parse `Init: 912, First inference: 1404, …`, in microseconds."""
    pairs = (part.partition(": ")[::2] for part in line.split(","))
    found = ((name.strip(), FIELD.match(value.strip())) for name, value in pairs)
    return {name: float(number[1]) for name, number in found if number is not None}


def _peak_bytes(text: str) -> int | None:
    """Parse the peak from the first format that matches."""
    printed = (spelling.findall(text) for spelling in PEAK)
    peaks = (peak_bytes(float(found[-1]), BYTES_PER_MB) for found in printed if found)
    return next((peak for peak in peaks if peak is not None), None)

"""LiteRT's and TensorFlow Lite's `benchmark_model`, on stdout or in the log of its app."""

from __future__ import annotations

import re

from pytest_devperf.tool.output import Output, Value
from pytest_devperf.tool.reading import BYTES_PER_MB, NS_PER_US, NUMBER, durations_ns, refuse

TOOL = "benchmark_model"

TIMINGS = re.compile(r"(?:Average i|I)nference timings in us:(.*)")
"""The line of results; logcat and `INFO:` stand before it.

Source:
    tensorflow/lite/tools/benchmark/benchmark_tflite_model.cc and benchmark_model.cc (BenchmarkLoggingListener),
    whose wording changed twice: `Warmup: …, Init: …, no stats: …`, then `…, Inference: …`, then
    `Init: …, First inference: …, Warmup (avg): …, Inference (avg): …`.
"""

FIELD = re.compile(rf"([A-Za-z][A-Za-z ]*(?:\(avg\))?): ({NUMBER})")

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
    fields = {name.strip(): float(value) for name, value in FIELD.findall(lines[-1])} if lines else {}
    average = next((fields[name] for name in AVERAGE if name in fields), None)
    if average is None:
        refuse(TOOL, "has no line 'Inference timings in us:'", text, "see that it found its --graph and ran to its end")
    values = {}
    if "First inference" in fields:
        values["first_inference"] = Value(value=fields["First inference"] / NS_PER_US, unit="ms")
    return Output(
        samples_ns=durations_ns([average], NS_PER_US, TOOL, text),
        load_ns=fields["Init"] * NS_PER_US if "Init" in fields else None,
        values=values,
        peak_bytes=_peak_bytes(text),
    )


def _peak_bytes(text: str) -> int | None:
    """Take the peak; a zero is what the tool prints where it cannot know."""
    for spelling in PEAK:
        found = spelling.findall(text)
        if found and float(found[-1]) > 0:
            return round(float(found[-1]) * BYTES_PER_MB)
    return None

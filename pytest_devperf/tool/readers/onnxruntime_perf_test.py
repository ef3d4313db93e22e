"""Parse the output of `onnxruntime_perf_test`: its report on stdout, or its result file with one row per run."""

from __future__ import annotations

import re

from pytest_devperf.metric import NS_PER_MS, NS_PER_S
from pytest_devperf.tool.extract import NUMBER, durations_ns, other_time_ns, peak_bytes, refuse
from pytest_devperf.tool.output import Output, Value
from pytest_devperf.untrusted import parse_number, parse_whole

TOOL = "onnxruntime_perf_test"

CELLS = 5
"""Columns of the result file: model, seconds, peak working set, CPU use, number of the run.

Source:
    onnxruntime/test/perftest/performance_runner.cc, PerformanceResult::DumpToFile.
"""

AVERAGE = re.compile(rf"Average inference time cost(?: total)?:\s*({NUMBER}) ms")
SESSION = re.compile(rf"Session creation time cost:\s*({NUMBER}) s")
FIRST = re.compile(rf"First inference time cost:\s*({NUMBER}) ms")
PEAK = re.compile(r"Peak working set size:\s*([0-9]+)")


def parse_onnxruntime_perf_test(text: str) -> Output:
    """Parse the time of each run, or the average if there are no rows.

    Raises:
        CaseError: It contains neither.
    """
    rows = _newest_rows(text)
    average = AVERAGE.findall(text)
    if rows:
        samples = durations_ns([seconds for seconds, _ in rows], NS_PER_S, TOOL, text)
    elif average:
        samples = durations_ns([float(average[-1])], NS_PER_MS, TOOL, text)
    else:
        refuse(
            TOOL,
            "has neither rows of runs nor 'Average inference time cost'",
            text,
            "check that the model loads, or print its result file too",
        )
    session, first = SESSION.findall(text), FIRST.findall(text)
    first_ns = other_time_ns(float(first[-1]), NS_PER_MS) if first else None
    peaks = [float(size) for size in PEAK.findall(text)] or [size for _, size in rows]
    return Output(
        samples_ns=samples,
        load_ns=other_time_ns(float(session[-1]), NS_PER_S) if session else None,
        values={} if first_ns is None else {"first_inference": Value(value=first_ns / NS_PER_MS, unit="ms")},
        peak_bytes=peak_bytes(peaks[-1]) if peaks else None,
    )


def _newest_rows(text: str) -> list[tuple[float, int]]:
    """Return (seconds, peak bytes) of the tool's last run: it always appends to its file."""
    rows: list[tuple[float, int]] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != CELLS:
            continue
        seconds, (peak, cpu_pct, number) = parse_number(cells[1]), map(parse_whole, cells[2:])
        if seconds is None or peak is None or cpu_pct is None or number is None:
            continue
        if number == 0:
            rows = []
        rows.append((seconds, peak))
    return rows

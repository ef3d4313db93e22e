"""Google Benchmark's JSON (`--benchmark_out=FILE`, or `--benchmark_format=json` on stdout)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_devperf.tool.output import Output, Value
from pytest_devperf.tool.reading import (
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    durations_ns,
    guarded,
    json_in,
    output_of,
    refuse,
)

TOOL = "google-benchmark"

UNITS_NS = {"ns": 1, "us": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}

AGGREGATES = ("_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS")
"""Endings of names that are summaries; library versions before 1.5 do not say so with `run_type`."""

RATES = {"items_per_second": ("items_per_s", "1/s"), "bytes_per_second": ("bytes_per_s", "B/s")}
"""Counters whose better way is known; others could be anything."""

NEXT_STEP = "let it write --benchmark_out=FILE --benchmark_out_format=json and read the file: stdout can be cut"


@guarded(TOOL, NEXT_STEP)
def parse_google_benchmark(text: str) -> Output:
    """Read one sample of real time for each repetition of each benchmark.

    Raises:
        CaseError: There is no whole JSON, a benchmark reports an error, or none ran.
    """
    found = json_in(text, TOOL, NEXT_STEP)
    rows = found.get("benchmarks") if isinstance(found, dict) else None
    if not rows:
        refuse(TOOL, "names no benchmark", text, "see that --benchmark_filter matches one")
    for row in rows:
        if row.get("error_occurred"):
            why = row.get("error_message") or "no message"
            refuse(TOOL, f"says that {row.get('name')} failed: {why}", text, "mend that benchmark or filter it out")
    # With only aggregates reported, the median of the repetitions is all there is.
    taken = [row for row in rows if not _is_aggregate(row)] or [row for row in rows if _is_median(row)]
    if not taken:
        refuse(TOOL, "has aggregates alone, and no median", text, "leave --benchmark_report_aggregates_only out")
    series: dict[str, tuple[float, ...]] = {}
    for row in taken:
        name = row.get("run_name") or row["name"]
        unit_ns = UNITS_NS.get(row.get("time_unit", "ns"), 1)
        series[name] = series.get(name, ()) + durations_ns([row.get("real_time")], unit_ns, TOOL, text)
    return output_of(series, _rates(taken, single=len(series) == 1))


def _is_aggregate(row: Mapping[str, Any]) -> bool:
    """Tell a summary from a measurement."""
    if "run_type" in row:
        return bool(row["run_type"] == "aggregate")
    return str(row.get("name", "")).endswith(AGGREGATES)


def _is_median(row: Mapping[str, Any]) -> bool:
    """Tell the median among summaries."""
    return row.get("aggregate_name") == "median" or str(row.get("name", "")).endswith("_median")


def _rates(rows: list[dict[str, Any]], *, single: bool) -> dict[str, Value]:
    """Take the rates of the last repetition of each benchmark."""
    values = {}
    for row in rows:
        for key, (name, unit) in RATES.items():
            if isinstance(row.get(key), (int, float)):
                full = name if single else f"{row.get('run_name') or row['name']}.{name}"
                values[full] = Value(value=float(row[key]), unit=unit, better="higher")
    return values

"""Parse Google Benchmark's JSON (`--benchmark_out=FILE`, or `--benchmark_format=json` on stdout)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_devperf.metric import NS_PER_MS, NS_PER_S, NS_PER_US, is_recorded_value
from pytest_devperf.tool.extract import distinct, durations_ns, guarded, json_in, output_of, refuse
from pytest_devperf.tool.output import Output, Value

TOOL = "google-benchmark"

UNITS_NS = {"ns": 1, "us": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}

AGGREGATES = ("_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS")
"""Suffixes of summaries; library versions before 1.5 do not mark them with `run_type`."""

RATES = {"items_per_second": ("items_per_s", "1/s"), "bytes_per_second": ("bytes_per_s", "B/s")}
"""Counters for which higher is better; other counters may be anything."""

NEXT_STEP = "pass --benchmark_out=FILE --benchmark_out_format=json and read the file: stdout may be cut off"


@guarded(TOOL, NEXT_STEP)
def parse_google_benchmark(text: str) -> Output:
    """Parse one sample of real time for each repetition of each benchmark.

    Raises:
        CaseError: It is not complete JSON, a benchmark reports an error, or none ran.
    """
    found = json_in(text, TOOL, NEXT_STEP)
    rows = found.get("benchmarks") if isinstance(found, dict) else None
    if not rows:
        refuse(TOOL, "contains no benchmark", text, "check that --benchmark_filter matches one")
    for row in rows:
        if row.get("error_occurred"):
            why = row.get("error_message") or "no message"
            refuse(TOOL, f"reports that {row.get('name')} failed: {why}", text, "fix or exclude that benchmark")
    ran = [row for row in rows if not row.get("skipped")]
    if not ran:
        why = rows[0].get("skip_message") or "no message"
        refuse(TOOL, f"reports that every benchmark was skipped: {why}", text, "change --benchmark_filter")
    # If only aggregates are reported, use the median of the repetitions.
    taken = [row for row in ran if not _is_aggregate(row)] or [row for row in ran if _is_median(row)]
    if not taken:
        refuse(TOOL, "contains only aggregates, and no median", text, "remove --benchmark_report_aggregates_only")
    names, repetitions = _by_benchmark(taken)
    series = [tuple(time for row in rows for time in _real_ns(row, text)) for rows in repetitions]
    return output_of(names, series, _rates(names, repetitions))


def _by_benchmark(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Mapping[str, Any]]]]:
    """Group the repetitions of each benchmark, and name the benchmarks; a number distinguishes equal names."""
    found: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        # Versions before 1.5.3 write no index, so a repetition looks like another benchmark of that name.
        indices = (row.get("family_index"), row.get("per_family_instance_index"))
        found.setdefault((str(row.get("run_name") or row["name"]), *map(str, indices)), []).append(row)
    return distinct(str(name) for name, *_ in found), list(found.values())


def _real_ns(row: Mapping[str, Any], text: str) -> tuple[float, ...]:
    unit = str(row.get("time_unit", "ns"))
    if unit not in UNITS_NS:
        refuse(TOOL, f"counts in {unit!r}", text, f"use one of {', '.join(UNITS_NS)}")
    return durations_ns([row.get("real_time")], UNITS_NS[unit], TOOL, text)


def _is_aggregate(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a summary and not a measurement."""
    if "run_type" in row:
        return bool(row["run_type"] == "aggregate")
    return str(row.get("name", "")).endswith(AGGREGATES)


def _is_median(row: Mapping[str, Any]) -> bool:
    """Return whether a summary is the median."""
    return row.get("aggregate_name") == "median" or str(row.get("name", "")).endswith("_median")


def _rates(names: Sequence[str], repetitions: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Value]:
    """Return the rates of the last repetition of each benchmark."""
    values = {}
    for benchmark, rows in zip(names, repetitions, strict=True):
        for key, (name, unit) in RATES.items():
            if is_recorded_value(rows[-1].get(key)):
                full = name if len(names) == 1 else f"{benchmark}.{name}"
                values[full] = Value(value=float(rows[-1][key]), unit=unit, better="higher")
    return values

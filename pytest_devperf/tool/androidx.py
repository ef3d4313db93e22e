"""androidx Benchmark's and Macrobenchmark's `…-benchmarkData.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_devperf.tool.output import Output, Value
from pytest_devperf.tool.reading import NS_PER_MS, NS_PER_US, durations_ns, guarded, json_in, output_of, refuse

TOOL = "androidx"

TIMES_NS = {"Ns": 1, "Us": NS_PER_US, "Ms": NS_PER_MS}
"""Ending of a metric's name and what it counts; every metric's name carries its unit."""

UNITS = {"Count": "1", "Kb": "KiB", "Mb": "MiB", "Uj": "uJ", "Uw": "uW", "Percent": "%"}

MAIN = "time"
"""The microbenchmark's own metric, `timeNs`: its series is named by the benchmark alone."""

NEXT_STEP = "pull the file that ends in benchmarkData.json from the device's additional test output"


@guarded(TOOL, NEXT_STEP)
def parse_androidx(text: str) -> Output:
    """Read the runs of each time metric of each benchmark, and the median of every other metric.

    Raises:
        CaseError: There is no whole JSON, or it holds no run.
    """
    found = json_in(text, TOOL, NEXT_STEP)
    benchmarks = found.get("benchmarks") if isinstance(found, dict) else None
    if not benchmarks:
        refuse(TOOL, "holds no benchmark", text, NEXT_STEP)
    count = Counter(str(row.get("name")) for row in benchmarks)
    series: dict[str, tuple[float, ...]] = {}
    values: dict[str, Value] = {}
    for row in benchmarks:
        name = str(row.get("name"))
        if count[name] > 1:
            name = f"{str(row.get('className', '')).rpartition('.')[2]}.{name}"
        for metric, runs in _metrics(row):
            stem, unit = _unit(metric)
            full = name if stem == MAIN else f"{name}.{stem}"
            if unit in TIMES_NS:
                series[full] = durations_ns(runs, TIMES_NS[unit], TOOL, text)
            else:
                middle = float(sorted(runs)[len(runs) // 2])
                values[f"{name}.{metric}"] = Value(value=middle, unit=UNITS.get(unit, "1"))
    if not series and not values:
        refuse(TOOL, "holds no run", text, NEXT_STEP)
    return output_of(series, values)


def _metrics(row: Mapping[str, Any]) -> Iterator[tuple[str, list[float]]]:
    """Give each metric with its runs; sampled metrics hold many values in each run."""
    for name, metric in (row.get("metrics") or {}).items():
        if metric.get("runs"):
            yield name, metric["runs"]
    for name, metric in (row.get("sampledMetrics") or {}).items():
        runs = [value for run in metric.get("runs") or () for value in run]
        if runs:
            yield name, runs


def _unit(metric: str) -> tuple[str, str]:
    """Part the unit from a metric's name: `timeNs` -> (`time`, `Ns`)."""
    for unit in (*TIMES_NS, *UNITS):
        if metric.endswith(unit):
            return metric.removesuffix(unit), unit
    return metric, ""

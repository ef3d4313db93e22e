"""Parse `…-benchmarkData.json` of androidx Benchmark and Macrobenchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_devperf.metric import NS_PER_MS, NS_PER_US
from pytest_devperf.tool.extract import distinct, durations_ns, guarded, json_in, output_of, refuse
from pytest_devperf.tool.output import Output, Value

TOOL = "androidx"

TIMES_NS = {"Ns": 1, "Us": NS_PER_US, "Ms": NS_PER_MS}
"""Unit suffix of a metric's name, and the unit in ns; every metric's name has one."""

UNITS = {"Count": "1", "Kb": "KiB", "Mb": "MiB", "Uj": "uJ", "Uw": "uW", "Percent": "%"}

MAIN = "time"
"""The microbenchmark's own metric, `timeNs`; its series has only the name of the benchmark."""

NEXT_STEP = "pull the file whose name ends in benchmarkData.json from the device's additional test output"


@guarded(TOOL, NEXT_STEP)
def parse_androidx(text: str) -> Output:
    """Parse the runs of each time metric of each benchmark, and the median of every other metric.

    Raises:
        CaseError: It is not complete JSON, or contains no run.
    """
    found = json_in(text, TOOL, NEXT_STEP)
    benchmarks = found.get("benchmarks") if isinstance(found, dict) else None
    if not benchmarks:
        refuse(TOOL, "contains no benchmark", text, NEXT_STEP)
    names: list[str] = []
    series: list[tuple[float, ...]] = []
    values: dict[str, Value] = {}
    for name, row in zip(_names(benchmarks), benchmarks, strict=True):
        for metric, runs in _metrics(row):
            stem, unit = _unit(metric)
            if unit in TIMES_NS:
                names.append(name if stem == MAIN else f"{name}.{stem}")
                series.append(durations_ns(runs, TIMES_NS[unit], TOOL, text))
            else:
                middle = float(sorted(runs)[len(runs) // 2])
                values[f"{name}.{metric}"] = Value(value=middle, unit=UNITS.get(unit, "1"))
    if not series and not values:
        refuse(TOOL, "contains no run", text, NEXT_STEP)
    return output_of(names, series, values)


def _names(benchmarks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name each benchmark; add the class to equal names, and a number if the class is equal too."""
    names = [str(row.get("name")) for row in benchmarks]
    count = Counter(names)
    classes = [str(row.get("className", "")).rpartition(".")[2] for row in benchmarks]
    return distinct(
        f"{of_class}.{name}" if count[name] > 1 else name for name, of_class in zip(names, classes, strict=True)
    )


def _metrics(row: Mapping[str, Any]) -> Iterator[tuple[str, list[float]]]:
    """Return each metric with its runs; sampled metrics contain many values per run."""
    for name, metric in (row.get("metrics") or {}).items():
        if metric.get("runs"):
            yield name, metric["runs"]
    for name, metric in (row.get("sampledMetrics") or {}).items():
        runs = [value for run in metric.get("runs") or () for value in run]
        if runs:
            yield name, runs


def _unit(metric: str) -> tuple[str, str]:
    """Split the unit from a metric's name: `timeNs` -> (`time`, `Ns`)."""
    for unit in (*TIMES_NS, *UNITS):
        if metric.endswith(unit):
            return metric.removesuffix(unit), unit
    return metric, ""

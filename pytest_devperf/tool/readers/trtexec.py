"""Parse `--exportTimes=FILE` of TensorRT's `trtexec`."""

from __future__ import annotations

from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.tool.extract import durations_ns, guarded, json_in, refuse
from pytest_devperf.tool.output import Output

TOOL = "trtexec"

PARTS = {"computeMs": "compute", "h2dMs": "to_device", "d2hMs": "to_host", "inMs": "to_device", "outMs": "to_host"}
"""Parts of a query's time; before version 8.6: in and out. Source: TensorRT/samples/common/sampleReporting.cpp."""

NEXT_STEP = "call it with --exportTimes=FILE and read the file"


@guarded(TOOL, NEXT_STEP)
def parse_trtexec(text: str) -> Output:
    """Parse the latency of each query, and the parts of each query as separate series.

    Raises:
        CaseError: It is not complete JSON, or contains no query.
    """
    found = json_in(text, TOOL, NEXT_STEP)
    queries = found if isinstance(found, list) else []
    if not queries or not all(isinstance(query, dict) and "latencyMs" in query for query in queries):
        refuse(TOOL, "contains no query with 'latencyMs'", text, NEXT_STEP)
    series = {}
    for key, name in PARTS.items():
        # Without copies (--noDataTransfers) their times are zero and are left out.
        times = [query[key] for query in queries if query.get(key)]
        if len(times) == len(queries):
            series[name] = durations_ns(times, NS_PER_MS, TOOL, text)
    return Output(
        samples_ns=durations_ns([query["latencyMs"] for query in queries], NS_PER_MS, TOOL, text), series_ns=series
    )

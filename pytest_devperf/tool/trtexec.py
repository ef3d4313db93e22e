"""TensorRT's `trtexec --exportTimes=FILE`."""

from __future__ import annotations

from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.tool.output import Output
from pytest_devperf.tool.reading import durations_ns, guarded, json_in, refuse

TOOL = "trtexec"

PARTS = {"computeMs": "compute", "h2dMs": "to_device", "d2hMs": "to_host", "inMs": "to_device", "outMs": "to_host"}
"""Parts of a query's time; versions before 8.6 say in and out. Source: TensorRT/samples/common/sampleReporting.cpp."""

NEXT_STEP = "call it with --exportTimes=FILE and read the file"


@guarded(TOOL, NEXT_STEP)
def parse_trtexec(text: str) -> Output:
    """Read the latency of each query, and its parts as series of their own.

    Raises:
        CaseError: There is no whole JSON of queries.
    """
    found = json_in(text, TOOL, NEXT_STEP)
    queries = found if isinstance(found, list) else []
    if not queries or not all(isinstance(query, dict) and "latencyMs" in query for query in queries):
        refuse(TOOL, "holds no query with 'latencyMs'", text, NEXT_STEP)
    series = {}
    for key, name in PARTS.items():
        # Without copies (--noDataTransfers) their times are zero: nothing to keep.
        times = [query[key] for query in queries if query.get(key)]
        if len(times) == len(queries):
            series[name] = durations_ns(times, NS_PER_MS, TOOL, text)
    return Output(
        samples_ns=durations_ns([query["latencyMs"] for query in queries], NS_PER_MS, TOOL, text), series_ns=series
    )

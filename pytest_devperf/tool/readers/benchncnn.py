"""Parse the output of ncnn's `benchncnn`."""

from __future__ import annotations

import re

from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.tool.extract import NUMBER, durations_ns, output_of, refuse
from pytest_devperf.tool.output import Output

TOOL = "benchncnn"

FIRST = " min ="
"""Text after a network's name."""

TIMES = re.compile(rf"\s*{NUMBER}\s+max =\s*{NUMBER}\s+avg =\s*({NUMBER})\s*")
"""The rest of the line, in ms. Source: ncnn/benchmark/benchncnn.cpp, the `fprintf` at the end of benchmark()."""

HEAD = "loop_count ="
"""First line of each run."""


def parse_benchncnn(text: str) -> Output:
    """Parse the average of each network: one sample for each start of the tool.

    Raises:
        CaseError: It contains no line of a network.
    """
    # Use the last run: a log may contain an earlier one, of other networks.
    run = text[max(0, text.rfind(HEAD)) :]
    parts = (line.rpartition(FIRST) for line in run.splitlines())
    lines = [(name.strip(), times) for name, _, rest in parts if name.strip() and (times := TIMES.fullmatch(rest))]
    if not lines:
        refuse(
            TOOL,
            "has no line 'NAME min = ... max = ... avg = ...'",
            text,
            "check that it ran, and that its .param files are in the same folder",
        )
    averages = [durations_ns([float(times[1])], NS_PER_MS, TOOL, text) for _, times in lines]
    return output_of([name for name, _ in lines], averages)

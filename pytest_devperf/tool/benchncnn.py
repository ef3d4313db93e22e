"""ncnn's `benchncnn`."""

from __future__ import annotations

import re

from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.tool.output import Output
from pytest_devperf.tool.reading import NUMBER, durations_ns, output_of, refuse

TOOL = "benchncnn"

FIRST = " min ="
"""What stands behind a network's name."""

TIMES = re.compile(rf"\s*{NUMBER}\s+max =\s*{NUMBER}\s+avg =\s*({NUMBER})\s*")
"""The rest of the line, in ms. Source: ncnn/benchmark/benchncnn.cpp, the `fprintf` at the end of benchmark()."""

HEAD = "loop_count ="
"""What each run prints first."""


def parse_benchncnn(text: str) -> Output:
    """Read the average of each network: one sample for each start of the tool.

    Raises:
        CaseError: There is no network's line.
    """
    # The last run counts: a log may hold an earlier one, of other networks.
    run = text[max(0, text.rfind(HEAD)) :]
    parts = (line.rpartition(FIRST) for line in run.splitlines())
    lines = [(name.strip(), times) for name, _, rest in parts if name.strip() and (times := TIMES.fullmatch(rest))]
    if not lines:
        refuse(
            TOOL,
            "has no line 'NAME min = ... max = ... avg = ...'",
            text,
            "see that it ran, and that its .param files lie beside it",
        )
    averages = [durations_ns([float(times[1])], NS_PER_MS, TOOL, text) for _, times in lines]
    return output_of([name for name, _ in lines], averages)

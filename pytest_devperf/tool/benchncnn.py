"""ncnn's `benchncnn`."""

from __future__ import annotations

import re

from pytest_devperf.tool.output import Output
from pytest_devperf.tool.reading import NS_PER_MS, NUMBER, durations_ns, output_of, refuse

TOOL = "benchncnn"

LINE = re.compile(rf"^\s*(\S.*?)\s+min =\s*{NUMBER}\s+max =\s*{NUMBER}\s+avg =\s*({NUMBER})\s*$", re.MULTILINE)
"""A network's line, in ms. Source: ncnn/benchmark/benchncnn.cpp, the `fprintf` at the end of benchmark()."""

HEAD = "loop_count ="
"""What each run prints first."""


def parse_benchncnn(text: str) -> Output:
    """Read the average of each network: one sample for each start of the tool.

    Raises:
        CaseError: There is no network's line.
    """
    # The last run counts: a log may hold an earlier one, of other networks.
    run = text[max(0, text.rfind(HEAD)) :]
    series = {name: durations_ns([float(average)], NS_PER_MS, TOOL, text) for name, average in LINE.findall(run)}
    if not series:
        refuse(
            TOOL,
            "has no line 'NAME min = … max = … avg = …'",
            text,
            "see that it ran, and that its .param files lie beside it",
        )
    return output_of(series)

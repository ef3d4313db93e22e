"""MNN's `benchmark.out`."""

from __future__ import annotations

import re

from pytest_devperf.tool.output import Output
from pytest_devperf.tool.reading import NS_PER_MS, NUMBER, durations_ns, output_of, refuse

TOOL = "mnn"

LINE = re.compile(rf"\[ [-+] \] (\S.*?)\s+max =\s*{NUMBER} ?ms\s+min =\s*{NUMBER} ?ms\s+avg =\s*({NUMBER}) ?ms")
"""A model's line; old versions write `ms` without a blank. Source: MNN/benchmark/benchmark.cpp, displayStats()."""

HEAD = "Benchmarking..."
"""What each run prints first."""


def parse_mnn(text: str) -> Output:
    """Read the average of each model: one sample for each start of the tool.

    Raises:
        CaseError: There is no model's line.
    """
    # The last run counts: a log may hold an earlier one, of other models.
    run = text[max(0, text.rfind(HEAD)) :]
    series = {
        name.removesuffix(".mnn"): durations_ns([float(average)], NS_PER_MS, TOOL, text)
        for name, average in LINE.findall(run)
    }
    if not series:
        refuse(
            TOOL, "has no line '[ - ] NAME max = … min = … avg = …'", text, "see that its folder of models isn't empty"
        )
    return output_of(series)

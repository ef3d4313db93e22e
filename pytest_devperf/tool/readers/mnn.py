"""Parse the output of MNN's `benchmark.out`."""

from __future__ import annotations

import re

from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.tool.extract import NUMBER, durations_ns, output_of, refuse
from pytest_devperf.tool.output import Output

TOOL = "mnn"

FIRST = " max ="
"""Text after a model's name."""

NAME = re.compile(r"\[ [-+] \] (?P<name>.*)")
"""Text before it, after any prefix from a log."""

TIMES = re.compile(rf"\s*{NUMBER} ?ms\s+min =\s*{NUMBER} ?ms\s+avg =\s*({NUMBER}) ?ms")
"""The rest of the line; old ones print `ms` without a blank. Source: MNN/benchmark/benchmark.cpp, displayStats()."""

HEAD = "Benchmarking..."
"""First line of each run."""


def parse_mnn(text: str) -> Output:
    """Parse the average of each model: one sample for each start of the tool.

    Raises:
        CaseError: It contains no line of a model.
    """
    # Use the last run: a log may contain an earlier one, of other models.
    run = text[max(0, text.rfind(HEAD)) :]
    parts = (line.partition(FIRST) for line in run.splitlines())
    found = ((NAME.search(head), TIMES.match(rest)) for head, _, rest in parts)
    lines = [(named["name"].strip(), times) for named, times in found if named and times and named["name"].strip()]
    if not lines:
        refuse(
            TOOL,
            "has no line '[ - ] NAME max = ... min = ... avg = ...'",
            text,
            "check that its folder of models isn't empty",
        )
    averages = [durations_ns([float(times[1])], NS_PER_MS, TOOL, text) for _, times in lines]
    return output_of([name.removesuffix(".mnn") for name, _ in lines], averages)

"""Parse the output of ExecuTorch's `executor_runner`, from stdout or Android's log."""

from __future__ import annotations

import re

from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.tool.extract import NUMBER, durations_ns, other_time_ns, refuse
from pytest_devperf.tool.output import Output

TOOL = "executor_runner"

ITERATION = re.compile(rf"Iteration [0-9]+ of [0-9]+: ({NUMBER}) ms")
TOTAL = re.compile(rf"Model executed successfully ([0-9]+) time\(s\) in ({NUMBER}) ms\.?")
LOADED = re.compile(rf"Model loaded in ({NUMBER}) ms")
"""Lines of the log. Source: executorch/examples/portable/executor_runner/executor_runner.cpp, its ET_LOG calls."""

UNTIMED = "Model executed successfully."
"""Output of versions that print no time."""


def parse_executor_runner(text: str) -> Output:
    """Parse the time of each execution; older versions print only the sum, which gives one sample.

    Raises:
        CaseError: The model did not run, or the version prints no time.
    """
    ends = list(TOTAL.finditer(text))
    if not ends:
        if UNTIMED in text:
            refuse(TOOL, "contains no time", text, "build a newer executor_runner, which has --num_executions")
        refuse(TOOL, "has no 'Model executed successfully'", text, "check its log (logcat on Android)")
    # A log may contain earlier runs: the last one begins where the previous one ended.
    run = text[ends[-2].end() if len(ends) > 1 else 0 : ends[-1].end()]
    iterations = [float(time) for time in ITERATION.findall(run)]
    count, total = float(ends[-1][1]), float(ends[-1][2])
    if not iterations and count > 0:
        iterations = [total / count]
    loaded = LOADED.findall(run)
    return Output(
        samples_ns=durations_ns(iterations, NS_PER_MS, TOOL, text),
        load_ns=other_time_ns(float(loaded[-1]), NS_PER_MS) if loaded else None,
    )

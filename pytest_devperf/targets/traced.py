"""Profile a model by sessions of its runtime that time each node, the same way on every device."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_devperf import stats
from pytest_devperf.explain.nodes import read_trace, with_traces
from pytest_devperf.explain.profile import Profile

PLAIN_PASSES = 3
"""Passes without a trace; the fastest one counts."""

SESSIONS = 2
"""Traced sessions of a process start: the same node differed by a fifth between sessions of one minute."""

MOST_EXECUTIONS = 40
"""Executions of a traced session: their median is exact, and onnxruntime ends a trace at a million events."""


def profile_nodes(
    run: Callable[[int, int], Sequence[float]],
    trace: Callable[[int], str] | None,
    *,
    metric: str,
    iterations: int,
    runtime: str,
) -> Profile:
    """Profile a model: its time without a trace first, then that of its nodes.

    Args:
        run: Runs and times it, as a runner does.
        trace: Executes it so many times in a session of its own and returns the trace; None: the runtime has none.
        metric: The metric that it is measured as.
        iterations: Iterations of each pass.
        runtime: What executes it, with its version.

    Raises:
        ValueError: The trace cannot be read.
    """
    plain_ns = min(stats.median(run(iterations, 1)) for _ in range(PLAIN_PASSES))
    profile = Profile(
        metric=metric,
        kind="nodes",
        runtime=runtime,
        clock="wall",
        iterations=iterations,
        plain_ns=plain_ns,
        problem=None if trace is not None else "the runtime does not time its operators",
    )
    if trace is None:
        return profile
    return with_traces(profile, [read_trace(trace(min(iterations, MOST_EXECUTIONS))) for _ in range(SESSIONS)])

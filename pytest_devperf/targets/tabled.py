"""Profile a program by the table of operators that it prints, the same way on every device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_devperf import stats
from pytest_devperf.explain.nodes import with_traces
from pytest_devperf.explain.profile import Profile, Row
from pytest_devperf.tool.operators import Operator, OperatorReader, read_operators

STARTS = 2
"""Starts of the program in a process start: one alone may have been disturbed."""

PrintTable = Callable[[Sequence[str], int], tuple[Sequence[float], str]]
"""Starts a program with further arguments and so many iterations; returns ns for each, and its whole output."""


def profile_table(
    reader: OperatorReader, print_table: PrintTable, *, metric: str, iterations: int, runtime: str
) -> Profile:
    """Profile a program whose reader reads a table of operators.

    Args:
        reader: The reader of its output.
        print_table: Starts it.
        metric: The metric that it is measured as.
        iterations: Iterations of each start.
        runtime: What executes the operators, with its version; empty if the program itself is measured.

    Raises:
        CaseError: The program or the reader failed.
    """
    times_ns: list[float] = []
    tables = []
    for _ in range(STARTS):
        samples_ns, text = print_table(reader.options, iterations)
        times_ns.append(stats.median(samples_ns))
        tables.append(rows_of(read_operators(text, reader)))
    profile = Profile(
        metric=metric, kind="nodes", runtime=runtime, clock="wall", iterations=iterations, plain_ns=min(times_ns)
    )
    if not all(tables):
        return replace(profile, problem="the program printed no table of operators")
    return with_traces(profile, tables)


def rows_of(operators: Sequence[Operator]) -> tuple[Row, ...]:
    """Make a row of each operator; those of one name are numbered in their order."""
    rows, seen = [], dict[str, int]()
    for operator in operators:
        label = f"{operator.kind} {operator.name}".rstrip()
        seen[label] = seen.get(label, 0) + 1
        number = f"#{seen[label]}" if seen[label] > 1 else ""
        rows.append(Row(label + number, operator.calls, (round(operator.time_ns, 1),)))
    return tuple(rows)

"""Render a sweep as a ranked table, with its winner if there is one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_devperf.compare.policy import Policy
from pytest_devperf.compare.sweep import Sweep, rank
from pytest_devperf.record.record import Record
from pytest_devperf.report.table import Column, lay_out, wrapped
from pytest_devperf.report.units import format_percent, format_value
from pytest_devperf.untrusted import printable

COLUMNS = (
    Column(heading="configuration"),
    Column(heading="metric"),
    Column(heading="value", number=True),
    Column(heading="noise", number=True, expendable=True),
    Column(heading="behind", number=True),
    Column(heading="no different from"),
)


def sweep_blocks(records: Iterable[Record], *, width: int = 80, policy: Policy | None = None) -> list[list[str]]:
    """Render the sweeps among some cases, each as a block of lines; empty if there is no sweep.

    Args:
        records: All cases of a run.
        width: Line width in characters.
        policy: Tolerances; None: the defaults.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.sweep is not None:
            groups.setdefault(record.sweep, []).append(record)
    return [render(name, rank(held, policy), width=width) for name, held in groups.items()]


def render(name: str, sweep: Sweep, *, width: int = 80) -> list[str]:
    """Render one sweep: its table, the cases that were left out, and the winner."""
    rows = [
        (
            configuration(each.id),
            each.metric,
            format_value(each.robust, each.unit),
            format_percent(100 * each.iqr / abs(each.robust) if each.robust else None),
            format_percent(each.beyond_pct) if place else "",
            ", ".join(map(configuration, each.like)),
        )
        for place, each in enumerate(sweep.ranked)
    ]
    left_out = [f"left out {configuration(case_id)}: {reason}" for case_id, reason in sweep.left_out]
    lines = [f"sweep {printable(name)}", *lay_out(COLUMNS, rows, width)]
    return [
        *lines,
        *(part for line in (*left_out, verdict(sweep)) for part in wrapped(printable(line), width, indent="    ")),
    ]


def verdict(sweep: Sweep) -> str:
    """Name the winner, or the best configurations if they do not differ beyond noise."""
    if sweep.winner is not None:
        first, second = sweep.ranked[:2]
        return f"winner: {configuration(first.id)}, by {format_percent(second.beyond_pct)} and beyond noise"
    if len(sweep.ranked) < 2:  # noqa: PLR2004 - a winner needs a competitor
        return "no winner: fewer than two configurations were measured"
    alike = [sweep.ranked[0].id, *sweep.ranked[0].like]
    return f"no winner: {_and(list(map(configuration, alike)))} do not differ beyond noise"


def configuration(case_id: str) -> str:
    """Name a configuration by its parameters.

    >>> configuration("test_net.py::test_net[CPU-2]"), configuration("net")
    ('CPU-2', 'net')
    """
    head, bracket, rest = case_id.partition("[")
    return rest.removesuffix("]") if bracket and rest.endswith("]") else head


def _and(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"

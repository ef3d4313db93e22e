"""The description of a benchmark case: its test, plan and target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_devperf.case.plan import Plan, Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test function to measure."""

    id: str
    """Its name in records: the node id, or the marker's `id=`, which survives renaming."""
    path: str | None = None
    """File of the test, relative to rootdir, with slashes."""
    test: str | None = None
    """Name of the test within its file: `TestSort::test_it[3]`."""
    suite: Suite = "quick"
    """The suite it belongs to."""
    plan: Plan = field(default_factory=Plan)
    """How much of it to measure."""
    named: frozenset[str] = frozenset()
    """Plan fields given on the command line; a baseline does not override them."""
    tolerance: Mapping[str, float] = field(default_factory=dict)
    """Relative tolerances from its marker by metric (`*` for all), as fractions."""
    sweep: str | None = None
    """Group of configurations to rank against each other."""
    memory: bool = False
    """Whether to measure the memory of plain calls too."""
    target: str | None = None
    """Target it is pinned to."""

"""One benchmark case: a test, the plan it is measured by, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_devperf.case.plan import Plan, Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test function that is measured."""

    id: str
    """Its name in records: the node id, or the marker's `id=`, which survives renaming."""
    path: str | None = None
    """File of the test, relative to rootdir, with slashes."""
    test: str | None = None
    """Names of the test below its file: `TestSort::test_it[3]`."""
    suite: Suite = "quick"
    """The suite it belongs to."""
    plan: Plan = field(default_factory=Plan)
    """How much of it is measured."""
    named: frozenset[str] = frozenset()
    """Plan fields named on the command line; a baseline does not override those."""
    tolerance: Mapping[str, float] = field(default_factory=dict)
    """Relative tolerances of its marker by metric (`*` for all), as fractions."""
    sweep: str | None = None
    """Group of configurations that are ranked among themselves."""
    memory: bool = False
    """Whether the memory of plain calls is taken too."""
    target: str | None = None
    """Target it is pinned to."""

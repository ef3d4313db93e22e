"""The interface of a mode, which decides the next process start of a case and its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pytest_devperf.count.pace import Pace
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.session.cases.case_state import CaseState, Look
from pytest_devperf.session.starts.start import Role

if TYPE_CHECKING:
    from pytest_devperf.record.record import Comparison, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """A process start that a case needs. Cases with the same request share it, unless it is `alone`."""

    phase: int
    """Requests of an earlier phase come first, whichever case makes them."""
    place: int
    """Its zero-based place among the starts of its phase."""
    of: int
    """Number of starts in the phase."""
    what: str
    """Name of the starts in the phase."""
    process: int
    """Index of the process start; no two starts of a case have the same."""
    role: Role
    start_plans: Mapping[str, StartPlan]
    """Plans by metric."""
    alone: bool = False
    """Whether it measures only one case: load and memory are measured without other cases."""
    paces: Mapping[str, Pace] = field(default_factory=dict)
    """How it counts instructions, by metric, if they are to be compared."""
    paired: bool = False
    """Whether the old code is measured, too."""
    rest_s: float = 0.0
    """Wait before the first start of its phase."""

    @property
    def order(self) -> tuple[int, int, int]:
        """Sort key for the requests of all cases."""
        return self.phase, self.place, self.process


class Mode(Protocol):
    """The purpose of a session. A mode decides from the state of a case, and changes nothing."""

    hosts_apps: bool
    """Whether it supports apps that host their own cases."""

    def first_role(self, state: CaseState) -> Role:
        """Return the purpose of start 1 of a case."""
        ...

    def first_plan(self, state: CaseState, metric: str) -> StartPlan:
        """Plan start 1 for a metric that the test begins to measure."""
        ...

    def starts(self, state: CaseState) -> int:
        """Count the process starts with rounds, as far as it is known."""
        ...

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Return the next process start that a case needs; None: it can be judged."""
        ...

    def record(self, state: CaseState) -> Record:
        """Combine a case's process starts.

        Raises:
            CaseError: They contradict each other.
        """
        ...

    def compare(self, state: CaseState, record: Record) -> Comparison | None:
        """Return a verdict; None: nothing is compared."""
        ...

    def look_again(self, state: CaseState, comparison: Comparison) -> Look | None:
        """Return the further look that a verdict needs; None: the verdict is final."""
        ...

    def describe_plan(self, states: Sequence[CaseState]) -> str:
        """Describe how much of the cases is measured."""
        ...

    def describe_first(self, state: CaseState) -> str:
        """Describe start 1 of a case."""
        ...

"""The interface of a mode, which decides the next process start of a case and its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_devperf.measure.round import StartPlan
from pytest_devperf.session.case_state import CaseState, Look
from pytest_devperf.session.starts.start import Role

if TYPE_CHECKING:
    from pytest_devperf.record.record import Comparison, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """A process start that a case needs. Cases with the same request share it, unless it is `alone`."""

    phase: int
    """Requests of an earlier phase come first, whichever case they are of."""
    place: int
    """Its zero-based place among the starts of its phase."""
    of: int
    """How many starts the phase has."""
    what: str
    """What the starts of the phase are called."""
    process: int
    """Index of the process start; no two starts of a case have the same."""
    role: Role
    start_plans: Mapping[str, StartPlan]
    """What it does, by metric."""
    alone: bool = False
    """Whether it measures one case only: load and memory are taken without neighbours."""
    paired: bool = False
    """Whether the old code is measured beside the new."""
    rest_s: float = 0.0
    """Wait before the first start of its phase."""

    @property
    def order(self) -> tuple[int, int, int]:
        """Sorts the requests of all cases."""
        return self.phase, self.place, self.process


class Mode(Protocol):
    """The purpose of a session. It decides from the state of a case, and changes nothing."""

    hosts_apps: bool
    """Whether it measures apps that host their own cases."""

    def first_plan(self, state: CaseState, metric: str) -> StartPlan:
        """Plan what start 1 does for a metric that it meets."""
        ...

    def starts(self, state: CaseState) -> int:
        """Count the process starts that take rounds, as far as it is known."""
        ...

    def next_start(self, state: CaseState) -> StartRequest | None:
        """Name the next process start that a case needs; None: it can be judged."""
        ...

    def record(self, state: CaseState) -> Record:
        """Put a case's process starts together.

        Raises:
            CaseError: They contradict one another.
        """
        ...

    def compare(self, state: CaseState, record: Record) -> Comparison | None:
        """Reach a verdict; None: nothing is compared."""
        ...

    def look_again(self, state: CaseState, comparison: Comparison) -> Look | None:
        """Name the further look that a verdict needs; None: it stands."""
        ...

    def describe_plan(self, states: Sequence[CaseState]) -> str:
        """Describe how much of the cases is measured."""
        ...

    def describe_first(self, state: CaseState) -> str:
        """Describe start 1 of a case."""
        ...

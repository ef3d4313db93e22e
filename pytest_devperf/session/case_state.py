"""The state of each case, from its first process start to its verdict.

It is the one thing in a session that changes; everything that decides reads it and returns a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_devperf.case.case import Case
from pytest_devperf.errors import CaseError
from pytest_devperf.session.starts.start import CaseStart

if TYPE_CHECKING:
    from pytest_devperf.case.workload import App
    from pytest_devperf.compare.history import Baseline
    from pytest_devperf.compare.policy import Policy
    from pytest_devperf.record.record import Comparison, Outcome, Record
    from pytest_devperf.session.starts.bench import Probe
    from pytest_devperf.targets.protocol import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class TestAddress:
    """The location of a test for a fresh interpreter."""

    path: str
    nodeid: str
    nth: int = 0
    """Which of several equal node ids."""

    __test__ = False


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """What became of a test, apart from any verdict; a strict `xfail` test that passes has passed."""

    outcome: Outcome = "passed"
    reason: str | None = None
    """Why it did not pass: the first line of what it says."""
    expected: bool = False
    """Whether it failed as its `xfail` marker expects; it then counts as skipped."""

    __test__ = False

    @property
    def passed(self) -> bool:
        """Whether it passed."""
        return self.outcome == "passed"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a case fails although its test passed, apart from any verdict."""

    what: str
    next_step: str = ""

    def __str__(self) -> str:
        """Both halves, a line each."""
        return f"{self.what}\n{self.next_step}" if self.next_step else self.what


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A further look at a case whose first one did not settle its verdict."""

    first_process: int
    """Index of its first process start: indices are never used twice."""
    starts: int
    """Process starts over which its rounds are spread."""
    rounds: int | None = None
    """Rounds over all its starts; None: as many as the first look planned."""


@dataclass(slots=True, kw_only=True)
class OldSide:
    """What the old code gave, if it is measured in turns with the new."""

    starts: list[CaseStart] = field(default_factory=list)
    missing: str | None = None
    """Why there is nothing to compare with."""
    pairs: int = 0
    """Pairs of process starts that were taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppCase:
    """One case of an app: `test_app[name]`."""

    host: int
    """Index of the test that started the app."""
    name: str
    """What the app calls the case."""
    app: App
    siblings: tuple[str, ...]
    """Names of all cases that the app reported first."""
    facts: Mapping[str, Any]
    """What the test that started the app stated of the work done."""


@dataclass(slots=True, kw_only=True)
class CaseState:
    """One case of a session."""

    index: int
    case: Case
    address: TestAddress
    policy: Policy
    baseline: Baseline | None = None
    target: Target | None = None
    """The device that it turned out to run on."""
    outcome: TestOutcome | None = None
    """What became of the test so far; None: it has not run."""
    problem: Problem | None = None
    starts: list[CaseStart] = field(default_factory=list)
    """What the process starts of the first look gave."""
    look: Look | None = None
    """The further look that is under way, or was the last."""
    again: list[CaseStart] = field(default_factory=list)
    """What the process starts of all further looks gave."""
    probes: list[Probe] = field(default_factory=list)
    """What start 1 measured, so that it can be measured again."""
    old: OldSide = field(default_factory=OldSide)
    app: AppCase | None = None
    retake_wait_s: float = 0.0
    """Time waited so far before rounds that were taken again."""
    unseeded: set[str] = field(default_factory=set)
    """Parts of the workload that differ from start to start, if that is accepted."""
    record: Record | None = None
    comparison: Comparison | None = None
    out_of_time: bool = False
    """Whether the session's budget is spent, so that its first look has no further starts."""
    concluded: bool = False
    """Whether it has its verdict and was reported."""

    @property
    def pending(self) -> bool:
        """Whether it ran and has no verdict yet."""
        return self.outcome is not None and not self.concluded

    @property
    def passed(self) -> bool:
        """Whether its test passed in every start so far."""
        return self.outcome is not None and self.outcome.passed and self.problem is None

    @property
    def measured(self) -> bool:
        """Whether anything was measured at all."""
        return any(start.timed or start.scalars or start.solo for start in self.starts)

    @property
    def skip_reason(self) -> str | None:
        """Why nothing of the test ran: its target could not run it, or it was skipped; None if it ran."""
        if self.starts and self.starts[0].unsupported:
            return self.starts[0].unsupported
        outcome = self.outcome
        if outcome is None or outcome.outcome != "skipped" or outcome.expected:
            return None
        return outcome.reason or "skipped"

    @property
    def is_paired(self) -> bool:
        """Whether the test itself measured something against something else, in turns."""
        return any(start.olds for start in self.starts)

    def fail(self, what: str, next_step: str = "") -> None:
        """Fail the case for what happened to it, not to its test."""
        self.problem = Problem(what, next_step)

    def keep(self, start: CaseStart) -> None:
        """Keep what a process start gave.

        Raises:
            CaseError: The start worked on other inputs than the first.
        """
        self.check_digests(start)
        (self.starts if self.look is None else self.again).append(start)

    def keep_old(self, start: CaseStart) -> None:
        """Keep what a start of the old code gave; other inputs are no reason to fail, but cannot be compared."""
        try:
            self.check_digests(start)
        except CaseError:
            self.old.missing = "the old code has other inputs or arguments than the new code"
        if start.facts != self.starts[0].facts:
            self.old.missing = "the facts given to devperf.workload differ between the old and the new code"
        self.old.starts.append(start)

    def check_digests(self, start: CaseStart) -> None:
        """Compare what a start worked on with what the first did.

        Raises:
            CaseError: It is something else, and that is not accepted.
        """
        known: Mapping[str, str] = self.starts[0].digests if self.starts else {}
        for name, digest in start.digests.items():
            if name not in known or known[name] == digest:
                continue
            part = name.rpartition(": ")[2]
            if name.startswith("facts: "):
                raise CaseError(f"{self.case.id}: {part} differs in every process start", "state what stays the same")
            if "unseeded" not in self.policy.accept:
                raise CaseError(
                    f"{self.case.id}: {part} differs in every process start",
                    "seed it, or use devperf.inputs; --devperf-accept=unseeded measures it as it is",
                )
            self.unseeded.add(name)


class CaseStates:
    """All cases of a session, in the order in which they were met."""

    def __init__(self) -> None:
        self._states: list[CaseState] = []

    def __iter__(self) -> Iterator[CaseState]:
        """Go through the cases."""
        return iter(self._states)

    def __len__(self) -> int:
        """Count the cases."""
        return len(self._states)

    def __getitem__(self, index: int) -> CaseState:
        """Find a case by its index."""
        return self._states[index]

    def add(self, state: CaseState) -> None:
        """Add a case."""
        self._states.append(state)

    @property
    def pending(self) -> list[CaseState]:
        """Cases that ran and have no verdict yet."""
        return [state for state in self._states if state.pending]

    @property
    def unfinished(self) -> list[CaseState]:
        """Cases without a verdict, whether they ran or not."""
        return [state for state in self._states if not state.concluded]

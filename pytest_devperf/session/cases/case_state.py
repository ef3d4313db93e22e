"""The state of each case, from its first process start to its verdict.

It is the only thing in a session that changes; code that decides reads it and returns a value.
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
    from pytest_devperf.record.record import Comparison, Counting, Outcome, Record
    from pytest_devperf.session.starts.meters.bench import Probe
    from pytest_devperf.targets.protocol import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class TestAddress:
    """The location of a test for a fresh interpreter."""

    path: str
    nodeid: str
    nth: int = 0
    """Zero-based position among several equal node ids."""

    __test__ = False


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """The outcome of a test, apart from any verdict; a strict `xfail` test that passes has passed."""

    outcome: Outcome = "passed"
    reason: str | None = None
    """Why it did not pass: the first line of its report."""
    expected: bool = False
    """Whether it failed as its `xfail` marker expects; it then counts as skipped."""

    __test__ = False

    @property
    def passed(self) -> bool:
        """Whether it passed."""
        return self.outcome == "passed"


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why a case fails although its test passed, apart from any verdict."""

    what: str
    next_step: str = ""

    def __str__(self) -> str:
        """Both parts, one line each."""
        return f"{self.what}\n{self.next_step}" if self.next_step else self.what


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A further look at a case whose first look did not settle its verdict."""

    first_process: int
    """Index of its first process start: indices are never reused."""
    starts: int
    """Process starts over which its rounds are spread."""
    rounds: int | None = None
    """Rounds over all its starts; None: as many as the first look planned."""
    recount: bool = False
    """Whether instructions are counted again."""


@dataclass(slots=True, kw_only=True)
class OldSide:
    """The results of the old code, if it is measured in turns with the new."""

    starts: list[CaseStart] = field(default_factory=list)
    missing: str | None = None
    """Why there is nothing to compare with."""
    pairs: int = 0
    """Number of measured pairs of process starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppCase:
    """One case of an app: `test_app[name]`."""

    host: int
    """Index of the test that started the app."""
    name: str
    """The app's name for the case."""
    app: App
    siblings: tuple[str, ...]
    """Names of all cases that the app reported first."""
    facts: Mapping[str, Any]
    """Facts about the work done that the test passed with the app."""


@dataclass(slots=True, kw_only=True)
class CaseState:
    """One case of a session."""

    index: int
    case: Case
    address: TestAddress
    policy: Policy
    baseline: Baseline | None = None
    target: Target | None = None
    """The device on which it runs; None until its first workload."""
    outcome: TestOutcome | None = None
    """Outcome of the test so far; None: it has not run."""
    problem: Problem | None = None
    starts: list[CaseStart] = field(default_factory=list)
    """The process starts of the first look."""
    look: Look | None = None
    """The current or latest further look."""
    again: list[CaseStart] = field(default_factory=list)
    """The process starts of all further looks."""
    counts: list[CaseStart] = field(default_factory=list)
    """What the process starts gave that counted instructions: the first, and another one for a suspect."""
    counting: Counting | None = None
    """How instructions are counted; None: they are not."""
    uncounted: str | None = None
    """Why they cannot be counted, although they were to be."""
    probes: list[Probe] = field(default_factory=list)
    """The measurements of start 1, so that they can be repeated."""
    old: OldSide = field(default_factory=OldSide)
    app: AppCase | None = None
    retake_wait_s: float = 0.0
    """Time waited so far before rounds were taken again."""
    unseeded: set[str] = field(default_factory=set)
    """Parts of the workload that differ between starts, if that is accepted."""
    record: Record | None = None
    comparison: Comparison | None = None
    out_of_time: bool = False
    """Whether the session's budget is spent, so that its first look has no further starts."""
    judged: bool = False
    """Whether it has its verdict; a change is explained before it is reported."""
    concluded: bool = False
    """Whether it has been reported."""

    @property
    def pending(self) -> bool:
        """Whether it has run and has no verdict yet."""
        return self.outcome is not None and not (self.judged or self.concluded)

    @property
    def passed(self) -> bool:
        """Whether its test passed in every start so far."""
        return self.outcome is not None and self.outcome.passed and self.problem is None

    @property
    def measured(self) -> bool:
        """Whether anything was measured."""
        return any(start.timed or start.scalars or start.solo or start.countable for start in self.starts)

    @property
    def wants_counts(self) -> bool:
        """Whether instructions of the case are to be counted, and can be."""
        return self.counting is not None and bool(self.starts) and self.starts[0].countable

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
        """Whether the test itself compared two workloads in turns."""
        return any(start.olds for start in self.starts)

    def fail(self, what: str, next_step: str = "") -> None:
        """Fail the case for a reason outside its test."""
        self.problem = Problem(what, next_step)

    def keep(self, start: CaseStart) -> None:
        """Keep the result of a process start.

        Raises:
            CaseError: The start had other inputs than the first.
        """
        self.check_work(start)
        if start.role == "counted":
            self.counts.append(start)
        else:
            (self.starts if self.look is None else self.again).append(start)

    def keep_old(self, start: CaseStart) -> None:
        """Keep the result of a start of the old code; other inputs are no reason to fail, but prevent a comparison."""
        try:
            self.check_digests(start)
        except CaseError:
            self.old.missing = "the old code has other inputs or arguments than the new code"
        if start.facts != self.starts[0].facts:
            self.old.missing = "the facts given to devperf.workload differ between the old and the new code"
        self.old.starts.append(start)

    def check_work(self, start: CaseStart) -> None:
        """Compare what a start of the same code worked on with what the first did.

        Raises:
            CaseError: It is something else, and that is not accepted.
        """
        self.check_digests(start)
        known = self.starts[0].model_sha256 if self.starts else None
        if known is not None and start.model_sha256 not in {known, None}:
            raise CaseError(
                f"{self.case.id}: the model was changed between two process starts", "measure once it is written"
            )

    def check_digests(self, start: CaseStart) -> None:
        """Compare the workload of a start with that of the first.

        Raises:
            CaseError: It differs, and that is not accepted.
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
    """All cases of a session, in the order in which they were added."""

    def __init__(self) -> None:
        self._states: list[CaseState] = []

    def __iter__(self) -> Iterator[CaseState]:
        """Iterate over the cases."""
        return iter(self._states)

    def __len__(self) -> int:
        """Count the cases."""
        return len(self._states)

    def __getitem__(self, index: int) -> CaseState:
        """Return the case with an index."""
        return self._states[index]

    def add(self, state: CaseState) -> None:
        """Add a case."""
        self._states.append(state)

    @property
    def pending(self) -> list[CaseState]:
        """Cases that have run and have no verdict yet."""
        return [state for state in self._states if state.pending]

    @property
    def unreported(self) -> list[CaseState]:
        """Cases that have a verdict and were not reported yet."""
        return [state for state in self._states if state.judged and not state.concluded]

    @property
    def unfinished(self) -> list[CaseState]:
        """Cases without a verdict, whether they have run or not."""
        return [state for state in self._states if not state.concluded]

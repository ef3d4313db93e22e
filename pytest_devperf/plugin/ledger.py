"""The ledger: what is known of every case, from its first process start to its verdict.

It is the one thing in the plugin that changes; everything that decides reads it and returns a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import rounds_of_start
from pytest_devperf.errors import CaseError
from pytest_devperf.measure.round import StartPlan, StartResult
from pytest_devperf.measure.undisturbed import earlier_of
from pytest_devperf.metric import TOLD_ONLY
from pytest_devperf.report.header import Planned

if TYPE_CHECKING:
    import pytest

    from pytest_devperf.compare.history import Baseline
    from pytest_devperf.compare.policy import Policy
    from pytest_devperf.plugin.meter import Probe
    from pytest_devperf.plugin.start import CaseStart, Role
    from pytest_devperf.record.record import Comparison, Record
    from pytest_devperf.targets.protocol import Target

CONFIRMING_STARTS = 6
"""Starts over which a confirmation spreads its rounds: with three, a real +5 % is missed in nearly half of the
cases where process starts differ by 3 %, with six in a third."""

SOLO_STARTS = 3
"""Least starts that take load and memory: fewer than three values are no verdict."""


@dataclass(slots=True, kw_only=True)
class Entry:
    """One case of this session."""

    index: int
    item: pytest.Item
    nth: int
    """Which of several equal node ids."""
    case: Case
    converge: bool
    """Whether nothing is saved or compared, so that convergence may end it."""
    early: bool
    """Whether an early pass may end it: a run that is saved always has all its rounds."""
    policy: Policy
    baseline: Baseline | None = None
    target: Target | None = None
    reports: list[pytest.TestReport] = field(default_factory=list)
    starts: list[CaseStart] = field(default_factory=list)
    confirming: list[CaseStart] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    unseeded: set[str] = field(default_factory=set)
    """Parts of the workload that differ from start to start, where that is accepted."""
    awaiting: bool = False
    """Whether a confirmation is under way."""
    logged: bool = False
    record: Record | None = None
    comparison: Comparison | None = None
    duration_s: float = 0.0
    retake_wait_s: float = 0.0
    """Time waited so far before rounds that were taken again."""

    @property
    def nodeid(self) -> str:
        """Under which id it is reported."""
        return self.item.nodeid

    # -- outcome --------------------------------------------------------------------------------

    @property
    def passed(self) -> bool:
        """Whether the test itself passed in every start so far."""
        return all(report.passed for report in self.reports) or self.xpassed

    @property
    def passed_or_strict(self) -> bool:
        """Whether it passed, or failed only for passing although it is marked `xfail(strict=True)`."""
        from pytest_devperf.plugin.outcome import is_strict_xpass

        return bool(self.reports) and (
            self.passed or all(report.passed or is_strict_xpass(report) for report in self.reports)
        )

    @property
    def xpassed(self) -> bool:
        """Whether an `xfail` test passed."""
        return any(report.when == "call" and hasattr(report, "wasxfail") and report.passed for report in self.reports)

    @property
    def skip_reason(self) -> str | None:
        """Why nothing of the test ran: its target could not run it, or it was skipped; None if it ran."""
        if self.starts and self.starts[0].unsupported:
            return self.starts[0].unsupported
        skips = [report for report in self.reports if report.skipped and not hasattr(report, "wasxfail")]
        return (skips[0].longreprtext or "skipped") if skips else None

    @property
    def measured(self) -> bool:
        """Whether anything was measured at all."""
        return any(start.timed or start.scalars or start.solo for start in self.starts)

    @property
    def processes(self) -> int:
        """Process starts of the timed rounds; what is measured in turns asks for more of them."""
        if self.starts and self.starts[0].olds and "processes" not in self.case.named:
            from pytest_devperf.compare.paired import PAIRS

            return PAIRS
        return self.case.plan.processes

    @property
    def confirming_starts(self) -> int:
        """Process starts of a confirmation: as many as a saved run has, since what starts differ decides there."""
        if self.processes == 1 or "processes" in self.case.named:
            return self.processes
        return min(max(CONFIRMING_STARTS, self.processes), self.case.plan.rounds)

    @property
    def solo_starts(self) -> int:
        """Starts that take load and memory; none where one process takes everything."""
        return max(SOLO_STARTS, self.processes) if self.starts and self.starts[0].solo and self.processes > 1 else 0

    def planned(self) -> Planned:
        """Tell how much is measured at most, as far as it is known before start 1."""
        held = self.baseline.runs[0].record.metrics if self.baseline is not None else ()
        paces = [self.first_plan(each.name).iterations for each in held if each.kind == "rounds"]
        plan = self.case.plan
        return Planned(starts=self.processes, rounds=plan.rounds, iterations=max(paces, default=plan.iterations))

    # -- what the next start does ---------------------------------------------------------------

    def first_plan(self, metric: str) -> StartPlan:
        """Tell what start 1 does for a metric it meets; the plan may come from the baseline."""
        from pytest_devperf.compare.bound import early_bound_ns, pace_of

        plan = self.case.plan
        pace = pace_of(self.baseline, metric) if self.baseline is not None else None
        iterations, inner_loops = pace or (plan.iterations, None)
        if "iterations" in self.case.named:
            iterations = plan.iterations
        bound = None
        if self.early and self.baseline is not None and not self._has_series():
            bound = early_bound_ns(self.baseline, metric, self.policy, plan.rounds, starts=plan.processes)
        return StartPlan(
            process=0,
            rounds=rounds_of_start(plan.rounds, plan.processes, 0),
            total_rounds=plan.rounds,
            processes=plan.processes,
            iterations=iterations,
            inner_loops=inner_loops,
            fixed=pace is not None,
            bound_ns=bound,
            converge=self.converge or (self.early and self.baseline is None),
        )

    def start_plans(self, process: int, role: Role) -> dict[str, StartPlan]:
        """Tell what a later start does for every metric that start 1 measured."""
        if role == "solo":
            return {}
        start_plans = {}
        for metric, start_results in self.start_results().items():
            known = start_results if not self.awaiting else self.start_results(confirming=True).get(metric, [])
            start_plans[metric] = self._start_plan(metric, process, start_results[0], known)
        return start_plans

    def _start_plan(self, metric: str, process: int, first: StartResult, known: list[StartResult]) -> StartPlan:
        place = process - self._offset()
        starts = self.confirming_starts if self.awaiting else self.processes
        stopped = any(start_result.stop in {"early-pass", "converged", "too-slow"} for start_result in known)
        return StartPlan(
            process=process,
            rounds=0 if stopped else rounds_of_start(first.total_rounds, starts, place),
            total_rounds=first.total_rounds,
            processes=starts,
            iterations=first.iterations,
            inner_loops=first.inner_loops,
            fixed=True,
            earlier=earlier_of(known),
            bound_ns=self._bound(metric, first.total_rounds),
            converge=(self.converge or (self.early and self.baseline is None)) and not self.awaiting,
        )

    def _bound(self, metric: str, rounds: int) -> float | None:
        from pytest_devperf.compare.bound import early_bound_ns

        if self.baseline is None or not (self.early or self.awaiting) or self._has_series():
            return None
        return early_bound_ns(
            self.baseline, metric, self.policy, rounds, starts=self.processes, confirming=self.awaiting
        )

    def _has_series(self) -> bool:
        """Tell whether the same rounds give further series: they would end with `latency`, unjudged."""
        if self.baseline is None:
            return False
        record = self.baseline.runs[0].record
        names = [each.name for each in record.metrics if each.kind == "rounds"]
        return "first_item" in names or (record.workload.kind == "command" and len(names) > 1)

    def _offset(self) -> int:
        """Index of the first confirming start: indices are never used twice."""
        return self.processes + self.solo_starts if self.awaiting else 0

    def place_of(self, process: int) -> int:
        """Which start of the first look, or of the confirmation, an index means."""
        return process - self._offset()

    def confirming_process(self, place: int) -> int:
        """Index of the place-th confirming start."""
        return self.processes + self.solo_starts + place

    def wants_start(self, process: int) -> bool:
        """Tell whether a further timed start would add anything."""
        if process >= self.processes or self.logged:
            return False
        recorded = [
            scalars.metric.name
            for start in self.starts
            for scalars in start.scalars
            if scalars.metric.kind == "recorded"
        ]
        if set(recorded) - TOLD_ONLY:
            return True
        return any(start_plan.rounds > 0 for start_plan in self.start_plans(process, "rounds").values())

    # -- what there is --------------------------------------------------------------------------

    def start_results(self, *, confirming: bool = False) -> dict[str, list[StartResult]]:
        """Group the timed rounds by metric, in the order in which the test measured them."""
        found: dict[str, list[StartResult]] = {}
        for start in self.confirming if confirming else self.starts:
            for timed in start.timed:
                found.setdefault(timed.metric.name, []).append(timed.start_result)
        return found

    def keep(self, start: CaseStart) -> None:
        """Keep a start's results.

        Raises:
            CaseError: The start worked on other inputs than the first.
        """
        self.check_digests(start)
        (self.confirming if self.awaiting else self.starts).append(start)

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


class Ledger:
    """All cases of a session."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._by_item: dict[int, Entry] = {}

    def __iter__(self) -> Iterator[Entry]:
        """Go through the cases in collection order."""
        return iter(self.entries)

    def add(self, entry: Entry) -> None:
        """Take a case up."""
        self.entries.append(entry)
        self._by_item[id(entry.item)] = entry

    def join(self, entry: Entry) -> None:
        """Take up a case that showed while another one ran: its test stays the other's."""
        self.entries.append(entry)

    def of(self, item: pytest.Item) -> Entry | None:
        """Find the entry of a test."""
        return self._by_item.get(id(item))

    @property
    def pending(self) -> list[Entry]:
        """Cases that ran and are not yet reported."""
        return [entry for entry in self.entries if entry.reports and not entry.logged]

    @property
    def unfinished(self) -> list[Entry]:
        """Cases without a report, whether they ran or not."""
        return [entry for entry in self.entries if not entry.logged]


class FirstOrders:
    """Orders of start 1: shares are made as the test meets its metrics."""

    def __init__(self, entry: Entry) -> None:
        self.process = 0
        self.role: Role = "rounds" if entry.processes > 1 else "all"
        self._entry = entry

    def start_plan(self, metric: str) -> StartPlan:
        """Tell what to do for a metric."""
        return self._entry.first_plan(metric)


class HandedOrders:
    """Orders of a later start: shares were made by pytest's own process."""

    def __init__(self, case_id: str, process: int, role: Role, start_plans: Mapping[str, StartPlan]) -> None:
        self.process = process
        self.role = role
        self._case_id = case_id
        self._shares = start_plans

    def start_plan(self, metric: str) -> StartPlan:
        """Tell what to do for a metric.

        Raises:
            CaseError: Start 1 did not measure it.
        """
        try:
            return replace(self._shares[metric], process=self.process)
        except KeyError:
            raise CaseError(
                f"{self._case_id}: metric {metric!r} was measured in process start {self.process + 1}, "
                "but not in the first",
                "measure the same metrics in every start",
            ) from None

"""One measuring session, from the collected cases to the saved results.

prepare    refuses cases that cannot be compared or saved, before anything is measured
begin      start 1 of a case: the caller runs its test with the meter it receives
end        keeps the results of start 1; a case that needs no other start gets its verdict at once
finish     runs all other starts, batch by batch, and determines the verdicts
close      releases devices, saves results, and counts the gates that were not met
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Plan
from pytest_devperf.errors import UsageError
from pytest_devperf.session.app_cases import take_up_app_cases
from pytest_devperf.session.budget import Budget
from pytest_devperf.session.case_state import CaseState, CaseStates, TestAddress, TestOutcome
from pytest_devperf.session.devices.targets import SessionTargets
from pytest_devperf.session.edge import Display, Reporter
from pytest_devperf.session.judge import judge
from pytest_devperf.session.keep import keep
from pytest_devperf.session.kept.baselines import Baselines
from pytest_devperf.session.kept.gate import broken_gates, missing_cases
from pytest_devperf.session.kept.results import Results
from pytest_devperf.session.launchers import Launchers
from pytest_devperf.session.modes.mode import Mode
from pytest_devperf.session.modes.paired_cases import ByCase, PairedCases
from pytest_devperf.session.modes.starts import role_of
from pytest_devperf.session.options.scope import Collected
from pytest_devperf.session.options.settings import Settings, policy_of
from pytest_devperf.session.readiness import (
    ReadyPhones,
    note_wait,
    open_named_phone,
    pin_as_baseline,
    refuse_clocks,
    refuse_hopeless,
)
from pytest_devperf.session.schedule import Schedule, groups
from pytest_devperf.session.starts.app import AppLaunch, LaunchOptions
from pytest_devperf.session.starts.bench import Bench
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.meter import Meter
from pytest_devperf.session.starts.orders import FirstOrders

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context


@dataclass(kw_only=True)
class Session:
    """One measuring session."""

    settings: Settings
    plan: Plan
    """The plan of a case without marker keywords."""
    mode: Mode
    targets: SessionTargets
    baselines: Baselines
    results: Results
    launchers: Launchers
    reporter: Reporter
    display: Display
    budget: Budget = field(default_factory=lambda: Budget(seconds=None))
    hint: str = ""
    """What fresh interpreters lack, as a possible reason why a case fails in one."""
    states: CaseStates = field(default_factory=CaseStates)
    _prerun: Context | None = None
    _together: int = 1
    """Metrics that are judged together."""

    @cached_property
    def _phones(self) -> ReadyPhones:
        return ReadyPhones(self.settings, self.plan, self.targets, self.launchers.cooler)

    @cached_property
    def _by_case(self) -> ByCase:
        return ByCase(self.mode, PairedCases(self.settings))

    # -- the steps of a session ---------------------------------------------------------------------

    def settle(self) -> bool:
        """Read the baselines, and pass their pinning to phones before one is opened for measuring.

        Returns:
            False if nothing will be measured; the reason is reported once the cases are known.
        """
        try:
            self.baselines.read()
        except UsageError:
            return False
        for target in self.targets.opened:
            pin_as_baseline(target, self.baselines)
        return True

    def prepare(self, cases: Sequence[tuple[Case, TestAddress]]) -> None:
        """Add the cases, and refuse those that cannot be compared or saved, before anything is measured.

        Raises:
            DevperfError: A case cannot be compared or saved.
        """
        self.baselines.read()
        self.settle()
        self.results.check()
        refuse_hopeless(self.settings, self.baselines, self.targets)
        refuse_clocks(self.settings, self.plan, self.targets, self.baselines)
        open_named_phone(self.targets, self.baselines)
        self.launchers.interpreters.prepare(address.path for _, address in cases)
        self._together = self.baselines.metrics_of(case for case, _ in cases) or len(cases)
        for case, address in cases:
            self._take_up(case, address)
        if self.budget.seconds is not None:
            self.budget.begin(self.targets.clock)
        here = self.targets.session_target()
        self._prerun = self.targets.prerun(here) if is_this_machine(here) else None

    def begin(self, state: CaseState) -> Meter:
        """Begin start 1 of a case; the caller runs its test with the meter."""
        self.display.stage(self.mode.describe_first(state), len(self.states), first=state.index + 1)
        self.display.measuring(state.case)
        orders = FirstOrders(role_of(self.mode.starts(state)), lambda metric: self.mode.first_plan(state, metric))
        bench = Bench(
            state.case,
            orders,
            self._phones.chooser(state.case, self.baselines),
            self.launchers.tools,
            partial(self.launchers.cooler.again, state=state),
        )
        return Meter(bench, launch=self._launch_options(state) if self.mode.hosts_apps else None)

    def end(self, state: CaseState, meter: Meter, outcome: TestOutcome) -> None:
        """Keep the results of start 1 of a case; judge it if it needs no other start."""
        self.display.clear()
        start, target = meter.bench.start, meter.bench.notes.target
        state.outcome, state.target, state.probes = outcome, target, meter.bench.probes
        state.starts.append(start)
        if target is not None:
            start.prerun = self._prerun if is_this_machine(target) else self._phones.prerun(target)
            self.launchers.warn_once(note_wait(start, self._phones.waited(target)))
            state.baseline = self.baselines.of(state.case.id, target.device)
        if meter.app_launch is not None and meter.app_launch.reports:
            self._adopt(state, meter.app_launch)
        else:
            self._judge_ready([state])

    def finish(self) -> None:
        """Run the other starts of the pending cases, and judge them."""
        for group in groups(self.states.pending, self.plan.order):
            rested: set[int] = set()
            schedule = Schedule(self._by_case, group)
            while (batch := schedule.next_batch()) is not None:
                states = [member.state for member in batch.members]
                if not self.budget.has_time(states, self.targets.clock):
                    schedule.add(self._judge_late(states))
                    continue
                self.launchers.rest(batch, rested)
                for found in self.launchers.run(batch):
                    keep(found, self.reporter, starts=self._by_case.starts(found.state), hint=self.hint)
                    if not found.state.passed:
                        self._judge(found.state)  # at once: the user may want to stop at a failure
                self.budget.note(states, self.targets.clock)
                self._judge_ready(states)
                schedule.add(states)
        self.display.clear()
        left_out = self.budget.describe()
        if left_out is not None:
            self.targets.note(left_out)

    def close(self, collected: Collected) -> int:
        """Release devices, save the results, and count the gates that were not met.

        Args:
            collected: The collected tests, and the exclusions of the user.
        """
        for note in self.launchers.interpreters.notes():
            self.targets.note(note)
        self.targets.release()
        missing, unselected = missing_cases(self.baselines, collected, self.states, self.settings, self.plan.suite)
        self.results.keep(self.states, missing, unselected=unselected)
        return broken_gates(self.states, self.settings, collected, self.results)

    # -- before and after ---------------------------------------------------------------------------

    def _take_up(self, case: Case, address: TestAddress) -> CaseState:
        state = CaseState(
            index=len(self.states),
            case=case,
            address=address,
            policy=policy_of(self.settings, case, together=self._together),
            baseline=self.baselines.of(case.id),
        )
        self.states.add(state)
        return state

    def _launch_options(self, state: CaseState) -> LaunchOptions:
        paced = "iterations" not in state.case.named
        return LaunchOptions(
            only=self.settings.only,
            iterations=self.baselines.hosted_iterations(state.case.id) if paced else None,
            announce=self.display.announce,
        )

    def _adopt(self, host: CaseState, launch: AppLaunch) -> None:
        """Add the cases that an app reported, each with its own report and verdict."""
        if host.passed:
            host.concluded = True  # the test itself is not a case
            self.reporter.conclude_host(host)
        else:
            self._judge(host)
        assert host.target is not None
        for state in take_up_app_cases(host, launch, self._take_up, self.reporter):
            state.baseline = self.baselines.of(state.case.id, host.target.device)
            self._judge_ready([state])

    # -- process starts and verdicts ----------------------------------------------------------------

    def _judge_ready(self, states: Sequence[CaseState]) -> None:
        """Judge the cases that failed, measured nothing, or need no other start."""
        for state in states:
            if state.pending and (not state.passed or not state.measured or self._by_case.next_start(state) is None):
                self._judge(state)

    def _judge_late(self, states: Sequence[CaseState]) -> Sequence[CaseState]:
        """Judge cases without time for their next start; return those that need another look."""
        for state in states:
            state.out_of_time = True
            self._judge(state, final=state.look is not None)
        return states

    def _judge(self, state: CaseState, *, final: bool = False) -> None:
        """Determine a verdict and report it, unless the case needs another look first and there is time for it."""
        if judge(state, self._by_case, final=final):
            state.concluded = True
            self.reporter.conclude(state)

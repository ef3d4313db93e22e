"""One measuring session, from the collected cases to the saved results.

prepare    refuses cases that cannot be compared or saved, before anything is measured
begin      start 1 of a case: the caller runs its test with the meter it receives
restore    in a resumed session: takes the results of a case from the log, instead of begin and end
end        keeps the results of start 1; a case that needs no other start gets its verdict at once
finish     runs all other starts, batch by batch, determines the verdicts, and explains changes
close      releases devices, saves results, and counts the gates that were not met
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_devperf.case.case import Case
from pytest_devperf.case.plan import Plan
from pytest_devperf.errors import UsageError
from pytest_devperf.session.budget import Budget
from pytest_devperf.session.cases.case_state import CaseState, CaseStates, TestAddress, TestOutcome
from pytest_devperf.session.cases.edge import Display, Reporter
from pytest_devperf.session.devices.targets import SessionTargets
from pytest_devperf.session.explaining.explainer import Explainer
from pytest_devperf.session.first_starts import FirstStarts
from pytest_devperf.session.kept.baselines import Baselines
from pytest_devperf.session.kept.gate import broken_gates, missing_cases
from pytest_devperf.session.kept.results import Results
from pytest_devperf.session.log.facts import difference, facts_of
from pytest_devperf.session.log.resumption import Resumption
from pytest_devperf.session.modes.mode import Mode
from pytest_devperf.session.modes.paired_cases import ByCase, PairedCases
from pytest_devperf.session.options.scope import Collected
from pytest_devperf.session.options.settings import Settings, policy_of
from pytest_devperf.session.readiness import (
    ReadyPhones,
    open_named_phone,
    pin_as_baseline,
    refuse_clocks,
    refuse_hopeless,
    refuse_other_counting,
)
from pytest_devperf.session.running.counting import SessionCounting
from pytest_devperf.session.running.launchers import Launchers
from pytest_devperf.session.schedule import Schedule, groups
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.meters.app import LaunchOptions
from pytest_devperf.session.starts.orders import FirstOrders, Orders
from pytest_devperf.session.verdicts import Verdicts

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.session.starts.meters.counting import AnyMeter


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
    resumption: Resumption
    reporter: Reporter
    display: Display
    budget: Budget = field(default_factory=lambda: Budget(seconds=None))
    explainer: Explainer | None = None
    """Explains changes; None: they are not explained."""
    counting: SessionCounting = field(default_factory=SessionCounting)
    """What counts instructions, if it is asked for."""
    hint: str = ""
    """What fresh interpreters lack, as a possible reason why a case fails in one."""
    states: CaseStates = field(default_factory=CaseStates)
    _prerun: Context | None = None
    _together: int = 1
    """Metrics that are judged together."""

    @cached_property
    def _verdicts(self) -> Verdicts:
        return Verdicts(mode=self._by_case, reporter=self.reporter, hint=self.hint, explainer=self.explainer)

    @cached_property
    def _first_starts(self) -> FirstStarts:
        return FirstStarts(
            phones=ReadyPhones(self.settings, self.plan, self.targets, self.launchers.cooler),
            launchers=self.launchers,
            baselines=self.baselines,
            resumption=self.resumption,
            verdicts=self._verdicts,
            take_up=self._take_up,
        )

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
        self._identify()
        if self.budget.seconds is not None:
            self.budget.begin(self.targets.clock)
        self._prepare_counting()
        here = self.targets.session_target()
        self._prerun = self.targets.prerun(here) if is_this_machine(here) else None

    def begin(self, state: CaseState) -> AnyMeter:
        """Begin start 1 of a case; the caller runs its test with the meter."""
        self.display.stage(self.mode.describe_first(state), len(self.states), first=state.index + 1)
        self.display.measuring(state.case)
        launch = self._launch_options(state) if self.mode.hosts_apps else None
        return self._first_starts.meter(state, self._first_orders(state), launch)

    def end(self, state: CaseState, meter: AnyMeter, outcome: TestOutcome) -> None:
        """Keep the results of start 1 of a case; judge it if it needs no other start."""
        self.display.clear()
        self._first_starts.take(state, meter, outcome, lambda: self._prerun)

    def restore(self, state: CaseState) -> bool:
        """Take what an earlier session measured of a case; return whether its test need not run."""
        return self._first_starts.restore(state)

    def finish(self) -> None:
        """Run the other starts of the pending cases, judge them, and explain what changed."""
        for group in groups(self.states.pending, self.plan.order):
            rested: set[int] = set()
            schedule = Schedule(self._by_case, group)
            while (batch := schedule.next_batch()) is not None:
                states = [member.state for member in batch.members]
                if not self.budget.has_time(states, self.targets.clock):
                    schedule.add(self._verdicts.judge_late(states))
                    continue
                self.launchers.rest(batch, rested)
                with closing(self.launchers.run(batch)) as starts:
                    for found in starts:
                        self.resumption.write_later(found)
                        self._verdicts.keep(found)
                self.budget.note(states, self.targets.clock)
                self._verdicts.judge_ready(states)
                schedule.add(states)
            self._verdicts.explain(self.states.unreported, self.budget.left_s(self.targets.clock))
        self._verdicts.explain(self.states.unreported, self.budget.left_s(self.targets.clock))
        if self.explainer is not None:
            self.explainer.profile(list(self.states), self.budget.left_s(self.targets.clock))
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
        self._end_log(whole=not (self.states.unfinished or self.results.failed))
        return broken_gates(self.states, self.settings, collected, self.results)

    @contextmanager
    def unless_broken_off(self) -> Iterator[None]:
        """If the block is interrupted (`-x`, Ctrl-C), keep the results so far, and report how to resume."""
        try:
            yield
        except BaseException:
            if self.states:
                self.results.break_off(self.states)
                self._end_log(whole=False)
            raise

    def _prepare_counting(self) -> None:
        """See that instructions can be counted, if they are to be.

        Raises:
            UsageError: They cannot be, and the command line asks for it.
        """
        asking = [state for state in self.states if state.case.plan.count != "no"]
        if not asking or not is_this_machine(self.targets.session_target()):
            return  # nothing can be counted there, which each case reports
        problem = self.counting.check(named="count" in self.settings.plan_cli or self.settings.counts_only)
        if problem is not None:
            self.targets.note(f"instructions were not counted: {problem}")
        counting = self.counting.known()
        refuse_other_counting(self.settings, self.baselines, counting)
        for state in asking:
            state.uncounted, state.counting = problem, counting

    # -- before and after ---------------------------------------------------------------------------

    def _identify(self) -> None:
        """Note in the log what identifies this session; refuse to go on with another one, or on another device.

        Raises:
            DevperfError: It is another one.
        """
        log, interpreters = self.resumption.log, self.launchers.interpreters
        facts = facts_of(
            self.settings,
            self.plan,
            [state.case for state in self.states],
            baseline=self.baselines.run_ids,
            old=interpreters.old.found.words if interpreters.old is not None else None,
            root=self.results.root,
        )
        log.identify(facts, difference)
        self.resumption.find_devices(self.states, self.targets, self.settings.target, self.baselines)

    def _end_log(self, *, whole: bool) -> None:
        log = self.resumption.log
        advice = log.end(whole=whole and not log.lost_device)
        if advice is not None:
            self.results.report_sentence(advice)

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

    def _first_orders(self, state: CaseState) -> Orders:
        """Make the orders of start 1: as the mode plans it; without rounds if an earlier session took them."""
        if state.outcome is not None:
            return FirstOrders("rounds", lambda metric: replace(self.mode.first_plan(state, metric), rounds=0))
        return FirstOrders(self.mode.first_role(state), lambda metric: self.mode.first_plan(state, metric))

    def _launch_options(self, state: CaseState) -> LaunchOptions:
        paced = "iterations" not in state.case.named
        return LaunchOptions(
            only=self.settings.only,
            iterations=self.baselines.hosted_iterations(state.case.id) if paced else None,
            announce=self.display.announce,
        )

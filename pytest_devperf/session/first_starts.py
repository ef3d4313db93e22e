"""Start 1 of every case: measured while its test runs, or taken from the log of an earlier session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pytest_devperf.errors import CaseError
from pytest_devperf.session.cases.app_cases import TakeUp, take_up_app_cases
from pytest_devperf.session.cases.case_state import CaseState, TestOutcome
from pytest_devperf.session.kept.baselines import Baselines
from pytest_devperf.session.log.resumption import Resumption
from pytest_devperf.session.readiness import ReadyPhones, note_wait
from pytest_devperf.session.running.launchers import Launchers
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.meters.app import AppLaunch, LaunchOptions
from pytest_devperf.session.starts.meters.bench import Bench
from pytest_devperf.session.starts.meters.timing import Meter
from pytest_devperf.session.starts.orders import Orders
from pytest_devperf.session.starts.start import CaseStart
from pytest_devperf.session.verdicts import Verdicts

if TYPE_CHECKING:
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.session.starts.meters.counting import AnyMeter
    from pytest_devperf.targets.protocol import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStarts:
    """Hands out meters for start 1 of cases, and takes what was found."""

    phones: ReadyPhones
    launchers: Launchers
    baselines: Baselines
    resumption: Resumption
    verdicts: Verdicts
    take_up: TakeUp
    """Takes up the cases that an app reports."""

    def meter(self, state: CaseState, orders: Orders, launch: LaunchOptions | None) -> AnyMeter:
        """Make the meter that the test of a case is run with.

        Args:
            state: The case.
            orders: What the start is asked to do.
            launch: What an app is asked for; None: this session measures no apps.
        """
        bench = Bench(
            state.case,
            orders,
            self.phones.chooser(state.case, self.baselines),
            self.launchers.tools,
            partial(self.launchers.cooler.again, state=state),
        )
        if orders.role == "counted":
            from pytest_devperf.session.starts.meters.counting import CountMeter

            return CountMeter(bench)
        return Meter(bench, launch=launch)

    def take(
        self, state: CaseState, meter: AnyMeter, outcome: TestOutcome, prerun: Callable[[], Context | None]
    ) -> None:
        """Take what start 1 of a case found; judge it if it needs no other start.

        Args:
            state: The case.
            meter: What its test was run with.
            outcome: What became of the test.
            prerun: Gives the reading of this machine before the session, idle.
        """
        start, target = meter.bench.start, meter.bench.notes.target
        state.probes = meter.bench.probes
        if state.outcome is not None:
            self._take_unmeasured(state, start, outcome)
            return
        if target is not None:
            start.prerun = prerun() if is_this_machine(target) else self.phones.prerun(target)
            self.launchers.warn_once(note_wait(start, self.phones.waited(target)))
        launch = meter.app_launch if meter.app_launch is not None and meter.app_launch.reports else None
        if meter.lost_device:
            self.resumption.log.lost_device = True
        else:
            self.resumption.write_first(state, start, launch, self.verdicts.reporter)
        self._take(state, start, target, outcome, launch)

    def restore(self, state: CaseState) -> bool:
        """Take what an earlier session measured of a case, its verdict included if it had one.

        Returns:
            Whether its test need not run. On a device that is controlled from this process, the test of a case that
            needs further starts runs once more without rounds, because only the test knows what is measured.
        """
        entry = self.resumption.take_first(state)
        if entry is None:
            return False
        target = self.resumption.target_of(entry.start)
        outcome = self.verdicts.reporter.restore_first(state, entry.reports)
        state.retake_wait_s = entry.retake_wait_s
        launch = AppLaunch(app=entry.app, reports=entry.app_reports) if entry.app is not None else None
        self._take(state, entry.start, target, outcome, launch)
        return state.concluded or target is None or is_this_machine(target)

    def _take(
        self, state: CaseState, start: CaseStart, target: Target | None, outcome: TestOutcome, launch: AppLaunch | None
    ) -> None:
        """Take what start 1 of a case found, in this session or an earlier one."""
        state.outcome, state.target = outcome, target
        state.starts.append(start)
        if target is not None:
            state.baseline = self.baselines.of(state.case.id, target.device)
        if launch is not None:
            self._adopt(state, launch)
        else:
            self._judge(state)

    def _judge(self, state: CaseState) -> None:
        """Judge a case by start 1, and by the later ones that an earlier session measured."""
        self.verdicts.judge_ready([state])
        for found in self.resumption.take_later(state):
            self.verdicts.keep(found)
            self.verdicts.judge_ready([state])

    def _take_unmeasured(self, state: CaseState, start: CaseStart, outcome: TestOutcome) -> None:
        """Keep the requests of a test that ran without rounds, for its further starts."""
        if outcome.passed:
            try:
                state.check_work(start)
            except CaseError as error:
                state.fail(error.what, error.next_step)
        else:
            state.outcome = outcome
        self.verdicts.judge_ready([state])

    def _adopt(self, host: CaseState, launch: AppLaunch) -> None:
        """Add the cases that an app reported, each with its own report and verdict."""
        if host.passed:
            host.concluded = True  # the test itself is not a case
            self.verdicts.reporter.conclude_host(host)
        else:
            self.verdicts.judge(host)
        assert host.target is not None
        for state in take_up_app_cases(host, launch, self.take_up, self.verdicts.reporter):
            state.baseline = self.baselines.of(state.case.id, host.target.device)
            self._judge(state)

"""One measuring session in pytest's own process, from the options to the exit code."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import pytest

from pytest_devperf.errors import DevperfError
from pytest_devperf.plugin.baseline import Baselines
from pytest_devperf.plugin.cases import case_of, plan_of
from pytest_devperf.plugin.chosen import Options
from pytest_devperf.plugin.collected import Collected
from pytest_devperf.plugin.cooler import Cooler
from pytest_devperf.plugin.gate import Gate
from pytest_devperf.plugin.hosting import Wish, adopted
from pytest_devperf.plugin.judge import compare_record, conclude, make_record, with_comparison
from pytest_devperf.plugin.keep import Keeper
from pytest_devperf.plugin.kind import is_this_machine
from pytest_devperf.plugin.ledger import Entry, FirstOrders, Ledger
from pytest_devperf.plugin.marker import is_case
from pytest_devperf.plugin.meter import Meter
from pytest_devperf.plugin.outcome import log, status_of
from pytest_devperf.plugin.passes import Passes, is_pending, note_wait
from pytest_devperf.plugin.place import AUTO, Places, prefixes_of
from pytest_devperf.plugin.protocol import run_protocol
from pytest_devperf.plugin.ready import (
    ReadyPhones,
    only_looks,
    open_named_phone,
    refuse_hopeless,
    refuse_other_pin,
    refuse_twins,
    refuse_unheld_clocks,
    settle_pin,
)
from pytest_devperf.plugin.terminal import Screen
from pytest_devperf.record.record import Record
from pytest_devperf.report.header import plan_words

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.record.record import Comparison
    from pytest_devperf.sensor.context import Context


SomePasses = TypeVar("SomePasses", bound=Passes)


class Campaign:
    """The hooks of a session that measures."""

    hosts_apps = True
    """Whether it measures apps that host their own cases."""

    def __init__(self, config: pytest.Config, options: Options, places: Places, seed: int) -> None:
        self.config = config
        self.options = options
        self.places = places
        self.seed = seed
        self.ledger = Ledger()
        self.plan = plan_of(options, {}, seed)
        self.baselines = Baselines(config, options, places)
        self.keeper = Keeper(config, options, places, self.plan)
        self.screen = Screen(config, self)
        self._meters: dict[int, Meter] = {}
        self._together = 1
        self._prerun: Context | None = None
        self.collected = Collected(config)
        self.gate = Gate(options, self.plan.suite, self.ledger, self.collected, self.keeper)
        self._said: set[str] = set()

    @cached_property
    def _cooler(self) -> Cooler:
        """Lets devices cool; made late, since the session's clock may be a plugin's or a simulated phone's."""
        return Cooler(self.places.clock, self.screen.cooling)

    @cached_property
    def _ready(self) -> ReadyPhones:
        return ReadyPhones(self.options, self.plan, self.places, self._cooler)

    # -- before anything is measured --------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Prepare the terminal."""
        self.screen.open()

    def pytest_report_header(self) -> list[str]:
        """Say what is measured where, in which surroundings, with which seed."""
        try:
            return self.screen.header()
        except DevperfError as error:
            raise pytest.UsageError(str(error)) from None

    def settle(self) -> bool:
        """Read the baselines, and tell phones how they were pinned before one is opened for measuring.

        Returns:
            False where nothing will be measured, so that no device is to be changed.
        """
        if only_looks(self.config):
            return False
        try:
            self.baselines.read()
        except pytest.UsageError:
            return False  # it is said once it is known what there is to measure
        for target in self.places.opened:
            settle_pin(target, self.baselines)
        return True

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take every selected case up, and refuse what can never be compared, before anything is measured."""
        if only_looks(self.config) or self.collected.ids is None:
            return
        items = [item for item in session.items if is_case(item)]
        if not items:
            if session.items or not self.collected.narrowed:
                self.baselines.read()
            return
        count: dict[tuple[str, str], int] = {}
        cases = [case_of(item, self.options, self.seed) for item in items]
        refuse_twins(items, cases)
        self.baselines.read()
        self.settle()
        self.keeper.check()
        refuse_hopeless(self.options, self.baselines, self.places)
        self._refuse_clocks()
        open_named_phone(self.places, self.baselines)
        self._together = self.baselines.metrics_of(cases)
        for item, case in zip(items, cases, strict=True):
            if self.ledger.of(item) is not None:
                continue  # the very same item once more, from a conftest: it is measured once
            key = (str(item.path), item.nodeid)
            nth = count[key] = count.get(key, -1) + 1
            self.ledger.add(self.entry(item, nth, case))
        self.screen.plan()
        host = self.places.session_target()
        self._prerun = self.places.prerun(host) if is_this_machine(host) else None

    def _refuse_clocks(self) -> None:
        """Refuse clocks that cannot be held as asked, or as the baseline has them.

        Raises:
            pytest.UsageError: They cannot.
        """
        if self.options.target == AUTO:
            return  # each case has its own device, and is refused there
        target = self.places.session_target()
        try:
            refuse_unheld_clocks(target, self.plan)
            refuse_other_pin(self.options, self.plan, self.baselines, [target.device])
        except DevperfError as error:
            raise pytest.UsageError(str(error)) from None

    def plan_words(self) -> str:
        """Describe how much of the selected cases is measured."""
        return plan_words([entry.planned() for entry in self.ledger])

    def entry(self, item: pytest.Item, nth: int, case: Case) -> Entry:
        """Take a case up: what may end it early depends on what becomes of the session's runs."""
        saving = self.options.save is not None
        baseline = self.baselines.of(case.id)
        return Entry(
            index=len(self.ledger.entries),
            item=item,
            nth=nth,
            case=case,
            # The configurations of a sweep all have all their rounds, or their floors could not be held together.
            converge=not saving and baseline is None and case.sweep is None,
            early=not saving and baseline is not None and case.sweep is None,
            policy=replace(self.baselines.policy(case), metrics=self._together),
            baseline=baseline,
        )

    # -- start 1 ----------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run start 1 of a case; report it at once only where nothing more can change."""
        entry = self.ledger.of(item)
        if entry is None or entry.reports:
            return None
        self.screen.stage(self.first_stage(entry), len(self.ledger.entries), first=entry.index + 1)
        self.screen.measuring(entry)
        meter = self._first_meter(entry)
        self._meters[id(item)] = meter
        entry.reports, _ = run_protocol(item, nextitem)
        del self._meters[id(item)]
        self.screen.clear()
        entry.duration_s = sum(report.duration for report in entry.reports)
        entry.target = meter.target
        entry.probes = meter.probes
        if entry.target is not None:
            here = is_this_machine(entry.target)
            meter.start.prerun = self._prerun if here else self._ready.prerun(entry.target)
            self._say_wait(note_wait(meter.start, self._ready.waited(entry.target)))
        entry.starts.append(meter.start)
        if meter.hosted:
            self._adopt(entry, meter)
            return True
        if entry.target is not None:
            entry.baseline = self.baselines.of(entry.case.id, entry.target.device)
        if not self._passed(entry) or not entry.measured or not is_pending(entry, 1):
            self.judge(entry)
        return True

    def first_stage(self, entry: Entry) -> str:
        """Describe start 1 of a case for the live line."""
        return f"start 1 of {entry.processes}" if entry.processes > 1 else "measuring"

    def _adopt(self, host: Entry, meter: Meter) -> None:
        """Take up the cases that an app reported, each with a report and a verdict of its own."""
        if host.passed_or_strict:
            self._log(host)  # the test itself is no case
        else:
            self.judge(host)
        for entry in adopted(host, meter, self._take_up):
            self.ledger.join(entry)
            host.item.session.testscollected += 1
            if not self._passed(entry) or not is_pending(entry, 1):
                self.judge(entry)

    def _take_up(self, host: Entry, case: Case) -> Entry:
        """Take up a case that an app reported."""
        assert host.target is not None
        entry = self.entry(host.item, host.nth, case)
        entry.baseline = self.baselines.of(case.id, host.target.device)
        return entry

    def _say_wait(self, words: str | None) -> None:
        """Say once that a wait did not find what it waited for."""
        if words is not None and words not in self._said:
            self._said.add(words)
            self.screen.tell(words)

    def meter(self, item: pytest.Item) -> Meter | None:
        """Hand a running case its meter."""
        return self._meters.get(id(item))

    def _first_meter(self, entry: Entry) -> Meter:
        meter = Meter(
            case=entry.case,
            orders=FirstOrders(entry),
            target_for=self._ready.chooser(entry.case, self.baselines),
            clock=self.places.clock,
            prefixes=prefixes_of(self.config),
            use_anchor=not self.options.no_anchor,
            on_round=self.screen.tick,
            cool_again=partial(self._cooler.again, entry=entry),
        )
        if not self.hosts_apps:
            return meter
        meter.wish = Wish(
            only=self.options.only,
            iterations=None if "iterations" in entry.case.named else self.baselines.hosted_iterations(entry.case.id),
            tell=self.screen.tell,
        )
        return meter

    # -- the other starts ---------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After start 1 of every case: its other starts, its verdict, and what is kept."""
        with self.gate.watch():
            with self.keeper.unless_broken_off(self.ledger):
                result = yield
                self._session = session
                self.finish(self.ledger.pending)
            self.screen.clear()
            self._close(session)
        return result

    def finish(self, pending: Sequence[Entry]) -> None:
        """Give pending cases their other starts and their verdicts."""
        passes = self.passes(Passes)
        if self.plan.order == "interleaved":
            passes.run(pending)
        else:
            for entry in pending:
                passes.run([entry])

    def passes(self, kind: type[SomePasses]) -> SomePasses:
        """Make the passes of this session, of a kind."""
        return kind(
            self.config,
            self.options,
            self.places,
            seed=self.seed,
            judge=self.judge,
            shows=self.screen,
            cooler=self._cooler,
            say=self._say_wait,
        )

    def judge(self, entry: Entry) -> None:
        """Reach a verdict, and report the case unless it awaits a confirmation."""
        record = self._record(entry)
        comparison = self._compare(entry, record)
        if comparison is not None and comparison.awaiting and not entry.confirming and self._can_confirm(entry):
            entry.awaiting = True
            return
        if comparison is not None:
            comparison = msgspec.structs.replace(comparison, awaiting=False)
            record = with_comparison(record, comparison)
        entry.record, entry.comparison = record, comparison
        conclude(entry, record, self.config, self.options)
        self._log(entry)

    def _record(self, entry: Entry) -> Record:
        return make_record(entry, self.options)

    def _compare(self, entry: Entry, record: Record) -> Comparison | None:
        return compare_record(entry, record, self.config, self.options)

    def _can_confirm(self, entry: Entry) -> bool:
        return not self.options.no_confirm and entry.passed_or_strict

    def _passed(self, entry: Entry) -> bool:
        return entry.passed_or_strict

    def _log(self, entry: Entry) -> None:
        """Report a case the way pytest would have, and heed what pytest says to that."""
        log(entry, self.report)
        session = entry.item.session
        if self._in_later_starts(session):
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)

    def report(self, entry: Entry) -> None:
        """Hand a case's reports to pytest."""
        for report in entry.reports:
            entry.item.ihook.pytest_runtest_logreport(report=report)

    _session: pytest.Session | None = None

    def _in_later_starts(self, session: pytest.Session) -> bool:
        """In start 1 pytest's own loop looks; afterwards nobody else does."""
        return self._session is session

    # -- the end --------------------------------------------------------------------------------------

    def _close(self, session: pytest.Session) -> None:
        """Let go of devices; keep what was measured, and fail the session if a gate did not hold."""
        self.places.release()
        if not only_looks(self.config):
            self.gate.close(session, self.baselines)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's own reporter
        """Write tables, cautions and the last line."""
        if not self.ledger.entries and not self.keeper.missing:
            self.screen.nothing_measured(terminalreporter)
            return
        report = self.keeper.report(self.ledger)
        self.screen.summary(terminalreporter, report)
        self.config.hook.pytest_devperf_report(config=self.config, report=report)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:  # noqa: ANN401 - pytest's own tuple
        """Give a regression its own word."""
        return status_of(report)

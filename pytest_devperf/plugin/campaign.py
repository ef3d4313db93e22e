"""One measuring session in pytest's own process, from the options to the exit code."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import pytest
from _pytest.runner import runtestprotocol

from pytest_devperf.errors import DevperfError
from pytest_devperf.plugin.assemble import record_of
from pytest_devperf.plugin.baseline import Baselines
from pytest_devperf.plugin.cases import case_of, plan_of
from pytest_devperf.plugin.chosen import Options
from pytest_devperf.plugin.hosting import Wish
from pytest_devperf.plugin.keep import Keeper
from pytest_devperf.plugin.ledger import Entry, FirstOrders, Ledger
from pytest_devperf.plugin.marker import is_case
from pytest_devperf.plugin.meter import Meter, is_phone
from pytest_devperf.plugin.outcome import call_report, fail, status_of
from pytest_devperf.plugin.passes import Passes, cool_down, is_pending, note_wait
from pytest_devperf.plugin.place import Pinning, Places, prefixes_of
from pytest_devperf.plugin.terminal import Screen
from pytest_devperf.record.record import Record
from pytest_devperf.report.detail import failure_text
from pytest_devperf.sensor.instrument import read_instrument

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.case.workload import Workload
    from pytest_devperf.measure.cooldown import Cooling
    from pytest_devperf.record.record import Comparison
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.target.target import Target


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
        self._prerun: Context | None = None
        self._deselected = 0
        self._cooled: dict[int, Cooling | None] = {}
        """Phones that were pinned and cooled before their first case, and how that wait ended."""
        self._said: set[str] = set()

    # -- before anything is measured --------------------------------------------------------------

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
        if self._only_looks():
            return False
        try:
            self.baselines.read()
        except pytest.UsageError:
            return False  # it is said once it is known that there are cases
        for target in self.places.opened:
            self._settle_pin(target)
        return True

    def _settle_pin(self, target: Target) -> None:
        if isinstance(target, Pinning):
            target.pin_as_baseline(pinned=self.baselines.pinned(target.device))

    def _open_phone(self) -> None:
        """Open the phone that was named: what stands in its way is said before anything is measured.

        Raises:
            pytest.UsageError: It cannot be used as asked.
        """
        target = self.places.session_target()
        if is_phone(target):
            try:
                target.look()
            except DevperfError as error:
                raise pytest.UsageError(str(error)) from None

    def _refuse_hopeless(self) -> None:
        """Refuse a comparison that this process's own state forbids for every case.

        Raises:
            pytest.UsageError: Something traces this thread.
        """
        instrument = read_instrument()
        if instrument is None or "instrumented" in self.options.accept or not self.baselines.known:
            return
        without = "--no-cov" if "coverage" in instrument else "no debugger or profiler"
        raise pytest.UsageError(
            f"--devperf-compare={self.options.compare}: {instrument} traces this process, so every case would be "
            f"incomparable: measure with {without}, or accept it with --devperf-accept=instrumented"
        )

    def _only_looks(self) -> bool:
        return bool(self.config.option.collectonly or getattr(self.config.option, "setuponly", False))

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count what the user deselected; our own suite does not count."""
        self._deselected += sum(1 for item in items if not item.stash.get(LEFT_OUT, False))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take every selected case up, and refuse what can never be compared, before anything is measured."""
        if self._only_looks():
            return
        items = [item for item in session.items if is_case(item)]
        if not items:
            return
        count: dict[tuple[str, str], int] = {}
        cases = [case_of(item, self.options, self.seed) for item in items]
        _refuse_twins(items, cases)
        self.baselines.read()
        self.settle()
        self.keeper.check()
        self._refuse_hopeless()
        self._open_phone()
        for item, case in zip(items, cases, strict=True):
            key = (str(item.path), item.nodeid)
            nth = count[key] = count.get(key, -1) + 1
            self.ledger.add(self.entry(item, nth, case))
        self._prerun = self.places.prerun()

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
            policy=self.baselines.policy(case),
            baseline=baseline,
        )

    # -- start 1 ----------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run start 1 of a case; report it at once only where nothing more can change."""
        entry = self.ledger.of(item)
        if entry is None:
            return None
        self.screen.measuring(entry, 0)
        meter = self._first_meter(entry)
        self._meters[id(item)] = meter
        entry.reports = runtestprotocol(item, log=False, nextitem=nextitem)
        del self._meters[id(item)]
        entry.duration_s = sum(report.duration for report in entry.reports)
        entry.target = meter.target
        entry.probes = meter.probes
        meter.start.prerun = self._prerun
        if entry.target is not None:
            self._say_wait(note_wait(meter.start, self._cooled.get(id(entry.target))))
        entry.starts.append(meter.start)
        if meter.hosted:
            self._adopt(entry, meter)
            return True
        if entry.target is not None:
            entry.baseline = self.baselines.of(entry.case.id, entry.target.device)
        if not self._passed(entry) or not entry.measured or not is_pending(entry, 1):
            self.judge(entry)
        return True

    def _ready(self, case: Case) -> Callable[[Workload], Target]:
        """Choose a case's device; a phone is pinned and cool before the first case on it."""
        choose = self.places.chooser(case)

        def choose_ready(workload: Workload) -> Target:
            target = choose(workload)
            if is_phone(target) and id(target) not in self._cooled:
                self._settle_pin(target)
                target.look()
                if isinstance(target, Pinning) and target.pin_words:
                    self.places.note(target.pin_words)
                self._cooled[id(target)] = cool_down(target, case.plan, self.places.clock, self.screen.cooling)
            return target

        return choose_ready

    def _adopt(self, host: Entry, meter: Meter) -> None:
        """Take up the cases that an app reported, each with a report and a verdict of its own."""
        from dataclasses import replace

        from pytest_devperf.plugin.hosting import adopt, start_of

        assert host.target is not None
        assert meter.app_measured is not None
        if host.passed_or_strict:
            self._log(host)  # the test itself is no case
        else:
            self.judge(host)
        siblings: list[str] = []
        for report in meter.hosted:
            case = replace(host.case, id=f"{host.case.id}[{report.case}]")
            entry = self.entry(host.item, host.nth, case)
            entry.baseline = self.baselines.of(case.id, host.target.device)
            entry = adopt(entry, host, meter.app_measured, report, siblings)
            entry.starts.append(start_of(report, meter.app_measured, meter.start, process=0, rounds=case.plan.rounds))
            self.ledger.join(entry)
            host.item.session.testscollected += 1
            if not self._passed(entry) or not is_pending(entry, 1):
                self.judge(entry)

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
            target_for=self._ready(entry.case),
            clock=self.places.clock,
            prefixes=prefixes_of(self.config),
            use_anchor=not self.options.no_anchor,
            on_round=self.screen.tick,
            on_cooling=self.screen.cooling,
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
        result = yield
        self._session = session
        self.finish(self.ledger.pending)
        self.screen.close()
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
            notes = {**record.caution_notes, **comparison.cautions}
            record = msgspec.structs.replace(record, comparison=comparison, cautions=tuple(notes), caution_notes=notes)
            record = _with_comparable(record, comparison)
        entry.record, entry.comparison = record, comparison
        self._conclude(entry, record)
        self._log(entry)

    def _record(self, entry: Entry) -> Record:
        try:
            record = record_of(entry, busy_cpu_percent=self.options.busy_cpu_percent)
        except DevperfError as error:
            fail(entry, error.what, str(error))
            record = record_of(entry, busy_cpu_percent=self.options.busy_cpu_percent)
        if not in_turns(entry):
            return record
        from pytest_devperf.plugin.duel import olds_of
        from pytest_devperf.plugin.side import with_old_side

        return with_old_side(record, olds_of(entry))

    def _compare(self, entry: Entry, record: Record) -> Comparison | None:
        if in_turns(entry):
            from pytest_devperf.plugin.duel import verdict_of

            return verdict_of(entry, record)
        if not self.options.compare or not (entry.measured or entry.baseline):
            return None
        from pytest_devperf.compare.compare import compare

        if entry.baseline is not None:
            answer: Comparison | None = self.config.hook.pytest_devperf_compare(
                config=self.config, record=record, baseline=entry.baseline, policy=entry.policy
            )
            if answer is not None:
                return answer
        return compare(record, entry.baseline, entry.policy)

    def _can_confirm(self, entry: Entry) -> bool:
        return not self.options.no_confirm and entry.passed_or_strict

    def _passed(self, entry: Entry) -> bool:
        return entry.passed_or_strict

    def _conclude(self, entry: Entry, record: Record) -> None:
        """Turn a verdict into the outcome of the test."""
        comparison = record.comparison
        if comparison is not None and entry.passed_or_strict:
            if comparison.verdict == "regressed":
                text = failure_text(record)
                fail(entry, text.partition("\n")[0], text, regressed=True)
            elif comparison.verdict == "incomparable" and self.options.fail_on_incomparable:
                message = f"incomparable: {comparison.reason or 'see the cautions'}"
                fail(entry, message, message)
        report = call_report(entry)
        report.duration = entry.duration_s
        report.devperf = msgspec.to_builtins(record)  # type: ignore[attr-defined] # reports keep what they are given
        self.config.hook.pytest_devperf_recorded(config=self.config, record=record)

    def _log(self, entry: Entry) -> None:
        """Report a case the way pytest would have, and heed what pytest says to that."""
        self.screen.clear()
        item, ihook = entry.item, entry.item.ihook
        ihook.pytest_runtest_logstart(nodeid=entry.nodeid, location=item.location)
        self.report(entry)
        ihook.pytest_runtest_logfinish(nodeid=entry.nodeid, location=item.location)
        entry.logged = True
        session = item.session
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
        """Let go of devices, save, write, and fail the run where a gate did not hold."""
        self.places.release()
        if not self.ledger.entries:
            return
        missing = self.baselines.missing(self.ledger, session)
        self.keeper.keep(self.ledger, missing)
        strict = self.options.fail_on_missing
        if strict is None:
            strict = self._deselected == 0
        if strict and any(missing.values()):
            session.testsfailed += 1
        if self.keeper.failed or self.keeper.report(self.ledger).nothing_compared or self._nothing_ran():
            session.testsfailed += 1

    def _nothing_ran(self) -> bool:
        """Whether a target was named and could run none of the cases."""
        if self.options.target == "auto":
            return False
        return all(entry.starts and entry.starts[0].unsupported for entry in self.ledger)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's own reporter
        """Write tables, cautions and the last line."""
        if not self.ledger.entries:
            self.screen.nothing_measured(terminalreporter)
            return
        report = self.keeper.report(self.ledger)
        self.screen.summary(terminalreporter, report)
        self.config.hook.pytest_devperf_report(config=self.config, report=report)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:  # noqa: ANN401 - pytest's own tuple
        """Give a regression its own word."""
        return status_of(report)


def in_turns(entry: Entry) -> bool:
    """Whether the test itself measured something against something else, in turns."""
    return any(start.olds for start in entry.starts)


LEFT_OUT: pytest.StashKey[bool] = pytest.StashKey()
"""Marks an item that our own suite left out."""


def _refuse_twins(items: Sequence[pytest.Item], cases: Sequence[Any]) -> None:
    """Two tests under one id would be one another's baseline."""
    seen: dict[str, pytest.Item] = {}
    for item, case in zip(items, cases, strict=True):
        other = seen.setdefault(case.id, item)
        if other is not item and other.nodeid != item.nodeid:
            raise pytest.UsageError(
                f"{item.nodeid} and {other.nodeid} are both called {case.id!r}: "
                "give each its own @pytest.mark.devperf(id=…)"
            )


def _with_comparable(record: Record, comparison: Comparison) -> Record:
    from dataclasses import replace

    comparable = comparison.verdict not in {"incomparable", "new"}
    return msgspec.structs.replace(record, run_context=replace(record.run_context, comparable_to_baseline=comparable))

"""The passes over the cases: later process starts, solo starts, confirmations.

On the host a pass is a fresh interpreter; on a target that starts processes of its own it is driven
from here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from pytest_devperf.errors import DevperfError
from pytest_devperf.plugin.fresh import Found, last_words, note_on_plugins, run_pass
from pytest_devperf.plugin.hosting import Hosted, Wish, check_reported, groups_of, reports_of, start_of
from pytest_devperf.plugin.kind import is_this_machine
from pytest_devperf.plugin.ledger import Entry, HandedOrders
from pytest_devperf.plugin.meter import Meter
from pytest_devperf.plugin.outcome import fail, is_strict_xpass, rebuild, replace_by
from pytest_devperf.plugin.place import prefixes_of
from pytest_devperf.plugin.start import CaseStart, Role
from pytest_devperf.report.live import wait_words

if TYPE_CHECKING:
    import pytest

    from pytest_devperf.case.plan import Plan
    from pytest_devperf.measure.cooldown import Cooling
    from pytest_devperf.measure.round import Round
    from pytest_devperf.plugin.chosen import Options
    from pytest_devperf.plugin.cooler import Cooler
    from pytest_devperf.plugin.place import Places
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.targets.app.wire import CaseReport
    from pytest_devperf.targets.protocol import Target

CONFIRM_COOLDOWN_S = 10.0
"""Wait before a suspect is measured again on a host: boosts and bursts are over by then."""

Judge = Callable[[Entry], None]
"""Reaches a verdict on an entry that has all its starts, and reports it unless it awaits a confirmation."""


class Shows(Protocol):
    """Whoever shows what is going on."""

    def event(self, event: Mapping[str, Any]) -> None:
        """Follow what a fresh interpreter does."""
        ...

    def stage(self, words: str, cases: int) -> None:
        """Show which process start begins, and what for."""
        ...

    def measuring(self, entry: Entry) -> None:
        """Show which case is being measured."""
        ...

    def tick(self, round_: Round) -> None:
        """Show that a round is done."""
        ...

    def cooling(self, step: Cooling) -> None:
        """Show a wait as it goes."""
        ...

    def tell(self, sentence: str) -> None:
        """Write a line at once."""
        ...


class Passes:
    """Runs what is left to run after start 1."""

    def __init__(  # noqa: PLR0913 - the session's parts, each with one meaning
        self,
        config: pytest.Config,
        options: Options,
        places: Places,
        *,
        seed: int,
        judge: Judge,
        shows: Shows,
        cooler: Cooler,
        say: Callable[[str | None], None],
    ) -> None:
        self._config = config
        self._options = options
        self._places = places
        self._seed = seed
        self._judge = judge
        self._shows = shows
        self._cooler = cooler
        self._say = say
        self._waited: Cooling | None = None
        """How the latest wait ended."""
        self._note = note_on_plugins(config)
        """What a fresh interpreter lacks."""

    def run(self, entries: Sequence[Entry]) -> None:
        """Give every entry its further starts and its verdict, cases alternating."""
        for process in range(1, max((entry.processes for entry in entries), default=1)):
            self._timed(entries, process)
        for solo in range(max((entry.solo_starts for entry in entries), default=0)):
            for entry in entries:
                if not entry.logged and solo < entry.solo_starts:
                    self._pass([entry], entry.processes + solo, "solo", solo_stage(entry, solo))
        for entry in entries:
            if not entry.logged:
                self._judge(entry)
        self._confirm([entry for entry in entries if entry.awaiting and not entry.logged])

    def _timed(self, entries: Sequence[Entry], process: int) -> None:
        wanting = [entry for entry in entries if not entry.logged and entry.wants_start(process)]
        if wanting:
            starts = max(entry.processes for entry in wanting)
            self._pass(wanting, process, "rounds", f"start {process + 1} of {starts}")
        for entry in entries:
            if not entry.logged and not is_pending(entry, process + 1):
                self._judge(entry)

    def _confirm(self, suspects: Sequence[Entry]) -> None:
        """Measure suspects again, with the full budget, in starts of their own."""
        if not suspects:
            return
        if suspects[0].case.plan.cooldown != "off":
            self._shows.stage(f"waiting {CONFIRM_COOLDOWN_S:.0f} s before confirming", len(suspects))
            self._places.clock.sleep(CONFIRM_COOLDOWN_S)
        for place in range(max(entry.confirming_starts for entry in suspects)):
            self._confirming_pass(suspects, place)
        for entry in suspects:
            for solo in range(entry.solo_starts):
                if not entry.logged:
                    process = entry.confirming_process(entry.confirming_starts + solo)
                    self._pass([entry], process, "solo", f"confirming, {solo_stage(entry, solo)}")
            if not entry.logged:
                self._judge(entry)

    def _confirming_pass(self, suspects: Sequence[Entry], place: int) -> None:
        """The place-th confirming start; cases whose starts are numbered alike share an interpreter."""
        groups: dict[int, list[Entry]] = {}
        for entry in suspects:
            if place < entry.confirming_starts and not entry.logged:
                groups.setdefault(entry.confirming_process(place), []).append(entry)
        for process, members in groups.items():
            stage = f"confirming, start {place + 1} of {max(entry.confirming_starts for entry in members)}"
            self._pass(members, process, "rounds" if members[0].processes > 1 else "all", stage)

    def _pass(self, entries: Sequence[Entry], process: int, role: Role, stage: str) -> None:
        """One process start of several cases."""
        for target, members in _by_target(entries):
            self._shows.stage(stage, len(members))
            try:
                prerun = self._wait_for(target, members[0].case.plan, role)
            except DevperfError as error:
                for entry in members:
                    self._fail(entry, error.what, error.next_step)
                continue
            if is_this_machine(target):
                self._launch(members, process, role, prerun)
            else:
                self._drive_all(members, process, role, prerun)

    def _wait_for(self, target: Target, plan: Plan, role: Role) -> Context | None:
        """Let a device cool, and watch what it is busy with before rounds."""
        self._waited = self._cooler.before_pass(target, plan)
        return self._places.prerun(target) if role == "rounds" else None

    def _launch(self, entries: Sequence[Entry], process: int, role: Role, prerun: Context | None) -> None:
        """Run a start of several cases in a fresh interpreter."""
        seed = self._seed + process
        found = run_pass(self._config, entries, process=process, role=role, seed=seed, on_event=self._shows.event)
        for entry in entries:
            self._take(entry, found[entry.index], process, prerun)

    def _drive_all(self, entries: Sequence[Entry], process: int, role: Role, prerun: Context | None) -> None:
        """Give several cases a start on a target that starts processes of its own, in shuffled order."""
        order = list(entries)
        random.Random(self._seed + process).shuffle(order)  # noqa: S311 - an order, not a secret
        for entry in order:
            if not isinstance(entry, Hosted):
                self._drive(entry, process, role, prerun)
        for group in groups_of(order):
            self._drive_app(group, process, prerun)

    def _take(self, entry: Entry, found: Found, process: int, prerun: Context | None) -> None:
        """Take what a fresh interpreter found into the ledger."""
        words = f"process start {process + 1}"
        if found.absent:
            self._fail(
                entry,
                f"{entry.case.id}: {words} did not find this case: its id differs from run to run",
                self._note or "make parametrised ids from values that stay the same (no sets, times or random numbers)",
            )
        elif found.start is None:
            died = "died in this case" if found.begun else "did not run"
            self._fail(
                entry,
                f"{entry.case.id}: {words} {died}",
                f"{self._note or 'use --devperf-processes=1 to measure in this process'}; "
                "the last output of the interpreter:\n" + last_words(found.died or ""),
            )
        else:
            reports = rebuild(self._config, found.reports)
            entry.duration_s += sum(report.duration for report in reports)
            if any(not report.passed and not is_strict_xpass(report) for report in reports):
                replace_by(entry, reports, process, note=self._note)
                self._judge(entry)
                return
            found.start.prerun = prerun
            self._keep(entry, lambda: entry.keep(found.start))  # type: ignore[arg-type] # not None here

    def _drive(self, entry: Entry, process: int, role: Role, prerun: Context | None) -> None:
        """Give a case a start on a target that starts processes of its own."""
        assert entry.target is not None
        target = entry.target
        meter = Meter(
            case=entry.case,
            orders=HandedOrders(entry.case.id, process, role, entry.start_plans(process, role)),
            target_for=lambda _: target,
            clock=self._places.clock,
            prefixes=prefixes_of(self._config),
            use_anchor=not self._options.no_anchor,
            on_round=self._shows.tick,
            cool_again=partial(self._cooler.again, entry=entry),
        )
        self._shows.measuring(entry)

        def measure() -> None:
            meter.start.prerun = prerun
            meter.start.looks.append(target.look())
            self._say(note_wait(meter.start, self._waited))
            for probe in entry.probes:
                meter.replay(probe, target)
            meter.finish()
            entry.keep(meter.start)

        self._keep(entry, measure)

    def _drive_app(self, group: Sequence[Hosted], process: int, prerun: Context | None) -> None:
        """Launch an app once more, for those of its cases that are still pending."""
        first = group[0]
        assert first.target is not None
        target, app = first.target, first.app
        wanted = {entry.name for entry in group}
        wish = Wish(
            done=tuple(name for name in first.siblings if name not in wanted), build=False, tell=self._shows.tell
        )
        around = CaseStart(process=process, role="rounds", device=target.device, facts=first.host.starts[0].facts)
        around.prerun = prerun
        reports: dict[str, CaseReport] = {}
        problem: DevperfError | None = None
        try:
            around.looks.append(target.look())
            self._say(note_wait(around, self._waited))
            start_plan = first.plan_of_app(process, first.place_of(process))
            for report in reports_of(target, replace(app, cases=tuple(wanted)), start_plan, first.case.plan, wish):
                reports[report.case] = report
            around.looks.append(target.look())
        except DevperfError as error:
            problem = error
        for entry in group:
            if problem is not None and entry.name not in reports:
                self._fail(entry, problem.what, problem.next_step)
            else:
                self._keep(entry, partial(self._take_report, entry, reports, around))

    def _take_report(self, entry: Hosted, reports: Mapping[str, CaseReport], around: CaseStart) -> None:
        report = check_reported(entry, reports, around.process)
        rounds = entry.case.plan.rounds
        entry.keep(start_of(report, entry.app, around, process=around.process, rounds=rounds))

    def _keep(self, entry: Entry, work: Callable[[], None]) -> None:
        """Turn an error of one case into that case's failure."""
        try:
            work()
        except DevperfError as error:
            self._fail(entry, error.what, error.next_step)

    def _fail(self, entry: Entry, what: str, next_step: str) -> None:
        fail(entry, what, f"{what}\n{next_step}" if next_step else what)
        self._judge(entry)


def is_pending(entry: Entry, process: int) -> bool:
    """Tell whether a case needs any further start, counted from a process index on."""
    if entry.solo_starts:
        return True
    return any(entry.wants_start(later) for later in range(process, entry.processes))


def solo_stage(entry: Entry, solo: int) -> str:
    """Describe a start that takes load and memory, by its zero-based number among these."""
    return f"load and memory, start {solo + 1} of {entry.solo_starts}"


def note_wait(start: CaseStart, waited: Cooling | None) -> str | None:
    """Keep with a start that the wait before it did not find what it waited for; returns the words."""
    words = wait_words(waited)
    if words is not None and start.looks:
        start.looks[0] = replace(start.looks[0], notes=(*start.looks[0].notes, words))
    return words


def _by_target(entries: Iterable[Entry]) -> list[tuple[Target, list[Entry]]]:
    groups: dict[int, tuple[Target, list[Entry]]] = {}
    for entry in entries:
        assert entry.target is not None
        groups.setdefault(id(entry.target), (entry.target, []))[1].append(entry)
    return list(groups.values())

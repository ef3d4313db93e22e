"""Unchanged code measured again and again (`--devperf-aa`): what noise a gate has to live with.

Every repetition is a run like the one that a comparison measures. The first has its start 1 in pytest's
own process, as any run has; the others have all their starts in processes of their own. Nothing is
compared with anything that was saved, and nothing is a regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_devperf.case.plan import rounds_of_start
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.measure.undisturbed import earlier_of
from pytest_devperf.plugin.assemble import record_of
from pytest_devperf.plugin.campaign import Campaign
from pytest_devperf.plugin.ledger import Entry
from pytest_devperf.plugin.passes import Passes, solo_stage

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.compare.noise import Noise
    from pytest_devperf.plugin.start import CaseStart, Role
    from pytest_devperf.record.record import Record


@dataclass(slots=True, kw_only=True)
class Repetition(Entry):
    """One more run of a case that has had its first."""

    first: Entry
    number: int
    """1 for the second run, and so on."""

    @property
    def offset(self) -> int:
        """Index of its first process start: indices are never used twice."""
        return self.number * (self.first.processes + self.first.solo_starts)

    def start_plans(self, process: int, role: Role) -> dict[str, StartPlan]:
        """Tell what a start does: as much as the first run did, whatever it finds."""
        if role == "solo":
            return {}
        own = self.start_results()
        start_plans = {}
        for metric, start_results in self.first.start_results().items():
            planned = start_results[0]
            start_plans[metric] = StartPlan(
                process=process,
                rounds=rounds_of_start(planned.total_rounds, self.processes, process - self.offset),
                total_rounds=planned.total_rounds,
                processes=self.processes,
                iterations=planned.iterations,
                inner_loops=planned.inner_loops,
                fixed=True,
                earlier=earlier_of(own.get(metric, [])),
            )
        return start_plans

    def keep(self, start: CaseStart) -> None:
        """Keep a start's results.

        Raises:
            CaseError: The start worked on other inputs than the case's very first.
        """
        self.first.check_digests(start)
        self.starts.append(start)


class Repeats(Passes):
    """Runs whole repetitions, start 1 included."""

    def repeat(self, repetitions: Sequence[Repetition]) -> None:
        """Give every repetition all its starts, cases alternating."""
        for place in range(max((each.processes for each in repetitions), default=0)):
            groups: dict[int, list[Entry]] = {}
            for each in repetitions:
                if place < each.processes and not each.logged:
                    groups.setdefault(each.offset + place, []).append(each)
            for process, members in groups.items():
                role: Role = "rounds" if members[0].processes > 1 else "all"
                self._pass(members, process, role, f"{self._number(repetitions)}, start {place + 1}")
        for each in repetitions:
            for solo in range(each.first.solo_starts):
                if not each.logged:
                    stage = f"{self._number(repetitions)}, {solo_stage(each.first, solo)}"
                    self._pass([each], each.offset + each.processes + solo, "solo", stage)

    def _number(self, repetitions: Sequence[Repetition]) -> str:
        """Describe which repetition this is, for the live line."""
        return f"repetition {repetitions[0].number + 1} of {self._options.aa}"


class Repeating(Campaign):
    """The hooks of a session that measures every case several times, and compares the runs with one another."""

    hosts_apps = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._done: dict[int, list[Record]] = {}
        self._ending = False

    def entry(self, item: pytest.Item, nth: int, case: Case) -> Entry:
        """Take a case up; nothing ends it early, as in a run whose code became slower."""
        entry = super().entry(item, nth, case)
        entry.converge = entry.early = False
        return entry

    def plan_words(self) -> str:
        """Describe how much of the selected cases is measured."""
        return f"{self.options.aa} repetitions, each {super().plan_words()}"

    def first_stage(self, entry: Entry) -> str:
        """Describe start 1 of a case for the live line."""
        return f"repetition 1 of {self.options.aa}, {super().first_stage(entry)}"

    def judge(self, entry: Entry) -> None:
        """Report a case once its repetitions are over, or at once where it failed in one of them."""
        if isinstance(entry, Repetition):
            self._give_up(entry)
        elif self._ending or not entry.passed_or_strict or not entry.measured:
            super().judge(entry)

    def _give_up(self, repetition: Repetition) -> None:
        """Let the failure of a repetition stand for its case."""
        repetition.logged = True
        if not repetition.first.logged:
            repetition.first.reports = repetition.reports
            super().judge(repetition.first)

    def finish(self, pending: Sequence[Entry]) -> None:
        """Finish the first run, take the others, and report every case as what its test came to."""
        super().finish(pending)
        self._keep(pending, pending)
        passes = self.passes(Repeats)
        for number in range(1, self.options.aa or 1):
            again = [_again(entry, number) for entry in pending if not entry.logged]
            passes.repeat(again)
            self._keep([each.first for each in again], again)
        self._ending = True
        for entry in pending:
            if not entry.logged:
                super().judge(entry)

    def _keep(self, firsts: Sequence[Entry], runs: Sequence[Entry]) -> None:
        """Keep the records of one repetition."""
        for first, run in zip(firsts, runs, strict=True):
            if not first.logged:
                record = record_of(run, busy_cpu_percent=self.options.busy_cpu_percent)
                self._done.setdefault(first.index, []).append(record)

    def noises(self) -> dict[str, tuple[Noise, ...]]:
        """Sum every case up that passed in all repetitions."""
        from pytest_devperf.compare.noise import noise

        return {
            entry.case.id: noise(self._done[entry.index], entry.policy)
            for entry in self.ledger
            if entry.index in self._done and entry.record is not None and entry.record.outcome == "passed"
        }

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's own reporter
        """Write what the first run measured, then how the repetitions differ."""
        super().pytest_terminal_summary(terminalreporter)
        from pytest_devperf.report.as_noise import render

        if not self.ledger.entries:
            return
        terminalreporter.write_sep("-", "devperf: noise of unchanged code")
        width = terminalreporter._tw.fullwidth  # noqa: SLF001 - pytest has no other name for it
        for line in render(self.noises(), width=width).splitlines():
            terminalreporter.write_line(line)


def _again(entry: Entry, number: int) -> Repetition:
    return Repetition(
        index=entry.index,
        item=entry.item,
        nth=entry.nth,
        case=entry.case,
        converge=False,
        early=False,
        policy=entry.policy,
        target=entry.target,
        reports=list(entry.reports),
        probes=entry.probes,
        first=entry,
        number=number,
    )

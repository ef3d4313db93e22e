"""Cases that an app hosts: the reports of one app become process starts of many cases."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

import pytest

from pytest_devperf.case.digest import Digest
from pytest_devperf.case.fingerprint import fingerprint
from pytest_devperf.case.plan import rounds_of_start
from pytest_devperf.case.workload import App
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.measure.loop import tidy
from pytest_devperf.measure.round import Round, StartPlan, StartResult
from pytest_devperf.metric import LATENCY, LOAD, Metric, start_metric, time_metric
from pytest_devperf.plugin.ledger import Entry
from pytest_devperf.plugin.outcome import Sentence, section_of
from pytest_devperf.plugin.start import CaseStart, ScalarValues, Timed
from pytest_devperf.targets.app.wire import CaseReport, Task
from pytest_devperf.targets.protocol import Hosting, Memory

if TYPE_CHECKING:
    from pytest_devperf.case.case import Case
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.plugin.meter import Meter
    from pytest_devperf.targets.protocol import Target

RUN_ID_BYTES = 8
"""Random bytes of a run's id: an app that stayed alive from an earlier run must not guess it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked of one launch of an app."""

    only: str | None = None
    """The one case that is wanted."""
    iterations: int | None = None
    """Iterations per round, where a baseline gives them; None: as planned."""
    done: tuple[str, ...] = ()
    """Cases that nobody waits for any more."""
    build: bool = True
    tell: Callable[[str], None] = field(default=lambda _: None)
    """Shows a sentence to the user."""


@dataclass(slots=True, kw_only=True)
class Hosted(Entry):
    """One case of an app: `test_app[name]`."""

    host: Entry
    """The test that started the app."""
    name: str
    """What the app calls the case."""
    app: App
    siblings: list[str]
    """Names of all cases that the app reported first."""

    @property
    def nodeid(self) -> str:
        """The test's id with the case's name."""
        return f"{self.item.nodeid}[{self.name}]"

    @property
    def processes(self) -> int:
        """Launches: an app that is started by hand is started once, for all rounds."""
        return 1 if self.app.no_launch else self.case.plan.processes

    def wants_start(self, process: int) -> bool:
        """Tell whether a further launch would add anything: loads and sizes need as many as there are."""
        if process < self.processes and not self.logged and any(start.scalars for start in self.starts):
            return True
        return Entry.wants_start(self, process)

    def plan_of_app(self, process: int, place: int) -> StartPlan:
        """Tell what a later launch does: every start has its part of the rounds."""
        first = next(iter(self.start_results().values()), None)
        plan = self.case.plan
        starts = self.confirming_starts if self.awaiting else self.processes
        return StartPlan(
            process=process,
            rounds=max(1, rounds_of_start(plan.rounds, starts, place)),
            total_rounds=plan.rounds,
            processes=starts,
            iterations=first[0].iterations if first else plan.iterations,
            fixed=True,
        )


def reports_of(target: Target, app: App, start_plan: StartPlan, plan: Plan, wish: Wish) -> Iterator[CaseReport]:
    """Launch an app once, and give what it reports.

    Raises:
        Unsupported: The target runs no apps.
        CaseError: The app is not there, or ended without a case that must come.
        TargetError: The device went away, or the app fell silent.
    """
    if not isinstance(target, Hosting):
        raise Unsupported(f"app {app.id} runs on a phone, not on {target.device.name}", "use --devperf-target=android")
    task = Task(
        run=secrets.token_hex(RUN_ID_BYTES),
        rounds=start_plan.rounds,
        iterations=wish.iterations or start_plan.iterations,
        warmup=plan.warmup,
        only=wish.only,
        done=wish.done,
    )
    yield from target.host(app, task, build=wish.build, tell=wish.tell)


def start_of(report: CaseReport, app: App, around: CaseStart, *, process: int, rounds: int) -> CaseStart:
    """Make a case's process start of what the app reported about it.

    Args:
        report: The report.
        app: The app.
        around: The launch: its device, looks and facts.
        process: Zero-based index of the process start.
        rounds: Rounds planned over all starts.
    """
    facts = {**around.facts, **report.facts}
    work = fingerprint(replace(app, cases=(report.case,)), Digest(), facts={})
    return CaseStart(
        process=process,
        role="rounds",
        timed=[_timed(name, taken, report, process, rounds) for name, taken in report.rounds_ns.items()],
        scalars=list(_few(report)),
        kind="app",
        digests={**around.digests, f"{LATENCY}: facts": Digest().of(dict(report.facts)).hex()},
        works={LATENCY: work},
        facts=facts,
        env=dict(around.env),
        looks=list(around.looks),
        prerun=around.prerun,
        device=around.device,
    )


def _timed(name: str, taken: Sequence[Sequence[float]], report: CaseReport, process: int, rounds: int) -> Timed:
    return Timed(
        metric=time_metric(name),
        start_result=StartResult(
            rounds=tuple(Round(process=process, samples_ns=tidy(each, report.inner_loops)) for each in taken),
            iterations=len(taken[0]),
            inner_loops=report.inner_loops,
            total_rounds=rounds,
            tick_ns=None,
            stop="done",
        ),
    )


def _few(report: CaseReport) -> Iterator[ScalarValues]:
    from pytest_devperf.plugin.loaded import memory_values

    if report.load_ns is not None:
        yield ScalarValues(metric=start_metric(LOAD), values=[report.load_ns])
    for name, given in report.values.items():
        metric = Metric(name=name, unit=given.unit, better=given.better, kind="recorded")
        yield ScalarValues(metric=metric, values=[given.value])
    if report.memory is not None:
        sizes = report.memory
        yield from memory_values(
            Memory(baseline=sizes.baseline, loaded=sizes.loaded, peak=sizes.peak, disposed=sizes.disposed)
        )


def adopted(host: Entry, meter: Meter, take_up: Callable[[Entry, Case], Entry]) -> Iterator[Hosted]:
    """Make an entry of every case that an app reported in start 1, with that start in it.

    Args:
        host: The test that started the app.
        meter: What it measured.
        take_up: Makes the entry of any case, as the session has it: what may end it early, policy, baseline.
    """
    assert meter.app_measured is not None
    siblings: list[str] = []
    for report in meter.hosted:
        case = replace(host.case, id=f"{host.case.id}[{report.case}]")
        hosted = adopt(take_up(host, case), host, meter.app_measured, report, siblings)
        hosted.starts.append(start_of(report, meter.app_measured, meter.start, process=0, rounds=case.plan.rounds))
        yield hosted


def adopt(entry: Entry, host: Entry, app: App, report: CaseReport, siblings: list[str]) -> Hosted:
    """Make the entry of an app's case from one that was made for a case of that name.

    Args:
        entry: As the session makes it: what may end it, policy, baseline.
        host: The test that started the app.
        app: The app.
        report: What start 1 gave.
        siblings: Names of all cases of the app; this one's is added.
    """
    siblings.append(report.case)
    known = {each.name: getattr(entry, each.name) for each in fields(Entry)}
    known["target"] = host.target
    hosted = Hosted(**known, host=host, name=report.case, app=app, siblings=siblings)
    hosted.reports = pytest_reports(hosted, report)
    return hosted


def pytest_reports(hosted: Hosted, report: CaseReport) -> list[pytest.TestReport]:
    """Make the reports that pytest would have made, had the case been a test."""
    path, line, domain = hosted.item.location
    location = (path, line, f"{domain}[{hosted.name}]")
    reports = [_report(hosted, location, when) for when in ("setup", "call", "teardown")]
    reason = report.reason or ""
    if report.outcome == "failed":
        reports[1].outcome = "failed"
        reports[1].longrepr = Sentence(reason, section_of(reason), location)
    elif report.outcome == "skipped":
        reports[1].outcome = "skipped"
        reports[1].longrepr = (str(hosted.item.path), (line or 0) + 1, f"Skipped: {reason}")
    return reports


def _report(hosted: Hosted, location: tuple[str, int | None, str], when: str) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=hosted.nodeid,
        location=location,
        keywords=hosted.host.reports[0].keywords,
        outcome="passed",
        longrepr=None,
        when=when,  # type: ignore[arg-type] # one of the three words
    )


def groups_of(entries: Sequence[Entry]) -> list[list[Hosted]]:
    """Group an app's cases that wait for the same launch."""
    found: dict[int, list[Hosted]] = {}
    for entry in entries:
        if isinstance(entry, Hosted):
            found.setdefault(id(entry.host), []).append(entry)
    return list(found.values())


def check_reported(hosted: Hosted, reports: Mapping[str, CaseReport], process: int) -> CaseReport:
    """Find a case's report of a later launch.

    Raises:
        CaseError: It did not come, or the case failed this time.
    """
    report = reports.get(hosted.name)
    words = f"process start {process + 1}"
    if report is None:
        raise CaseError(f"{hosted.case.id}: {words} did not report this case", "report the same cases in every start")
    if report.outcome != "passed":
        raise CaseError(f"{hosted.case.id}: {report.outcome} in {words}: {report.reason}")
    return report

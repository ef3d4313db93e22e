"""Convert the reports of one launch of an app to process starts of many cases."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_devperf.case.digest import Digest
from pytest_devperf.case.fingerprint import fingerprint
from pytest_devperf.case.workload import App
from pytest_devperf.errors import CaseError, Unsupported
from pytest_devperf.measure.loop import tidy
from pytest_devperf.measure.round import Round, StartPlan, StartResult
from pytest_devperf.metric import LATENCY, LOAD, Metric, start_metric, time_metric
from pytest_devperf.session.starts.meters.bench import Bench
from pytest_devperf.session.starts.start import CaseStart, ScalarValues, Timed
from pytest_devperf.targets.app.wire import CaseReport, Task
from pytest_devperf.targets.protocol import Hosting, Memory

if TYPE_CHECKING:
    from pytest_devperf.case.plan import Plan
    from pytest_devperf.targets.protocol import Target

RUN_ID_BYTES = 8
"""Random bytes of a run's id: an app left over from an earlier run must not guess it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """The options of one launch of an app."""

    only: str | None = None
    """The only case to run."""
    iterations: int | None = None
    """Iterations per round, if a baseline sets them; None: as planned."""
    done: tuple[str, ...] = ()
    """Cases that are no longer expected."""
    build: bool = True
    announce: Callable[[str], None] = field(default=lambda _: None)
    """Shows a sentence to the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppLaunch:
    """The reports of an app's first launch, possibly incomplete."""

    app: App
    reports: list[CaseReport] = field(default_factory=list)


def launch_first(bench: Bench, launch: AppLaunch, options: LaunchOptions | None) -> None:
    """Launch an app as start 1 of its cases, and add its reports as they arrive.

    Raises:
        CaseError: It reported no case.
        Unsupported: This session measures no apps, or the target runs none.
    """
    app = launch.app
    bench.notes.claim(LATENCY)
    target = bench.enter(app, LATENCY)
    if options is None:
        raise Unsupported(
            f"app {app.id} hosts its own cases, which cannot be repeated or measured in turns",
            "use --devperf-save and --devperf-compare",
        )
    start_plan = bench.orders.start_plan(LATENCY)
    if app.no_launch:  # the user starts it only once
        start_plan = replace(start_plan, rounds=start_plan.total_rounds)
    for report in reports_of(target, app, start_plan, bench.case.plan, options):
        launch.reports.append(report)
    if not launch.reports:
        raise CaseError(f"{app.id} ended without reporting a case", "see docs/wire.md for what it has to post")


def reports_of(
    target: Target, app: App, start_plan: StartPlan, plan: Plan, options: LaunchOptions
) -> Iterator[CaseReport]:
    """Launch an app once, and return its reports.

    Raises:
        Unsupported: The target runs no apps.
        CaseError: The app is missing, or ended its run without a case that it must report.
        TargetError: The device is gone, or the app sent nothing in time.
    """
    if not isinstance(target, Hosting):
        raise Unsupported(f"app {app.id} runs on a phone, not on {target.device.name}", "use --devperf-target=android")
    task = Task(
        run=secrets.token_hex(RUN_ID_BYTES),
        rounds=start_plan.rounds,
        iterations=options.iterations or start_plan.iterations,
        warmup=plan.warmup,
        only=options.only,
        done=options.done,
    )
    yield from target.host(app, task, build=options.build, announce=options.announce)


def start_of(report: CaseReport, app: App, around: CaseStart, *, process: int, rounds: int) -> CaseStart:
    """Create a case's process start from the app's report.

    Args:
        report: The report.
        app: The app.
        around: The launch: its device, sensor readings and facts.
        process: Zero-based index of the process start.
        rounds: Rounds planned over all starts.
    """
    facts = {**around.facts, **report.facts}
    work = fingerprint(replace(app, cases=(report.case,)), Digest(), facts={})
    return CaseStart(
        process=process,
        role="rounds",
        timed=[_timed(name, taken, report, process, rounds) for name, taken in report.rounds_ns.items()],
        scalars=list(_scalars(report)),
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


def _scalars(report: CaseReport) -> Iterator[ScalarValues]:
    from pytest_devperf.session.starts.loads import memory_scalars

    if report.load_ns is not None:
        yield ScalarValues(metric=start_metric(LOAD), values=[report.load_ns])
    for name, given in report.values.items():
        metric = Metric(name=name, unit=given.unit, better=given.better, kind="recorded")
        yield ScalarValues(metric=metric, values=[given.value])
    if report.memory is not None:
        sizes = report.memory
        yield from memory_scalars(
            Memory(baseline=sizes.baseline, loaded=sizes.loaded, peak=sizes.peak, disposed=sizes.disposed)
        )

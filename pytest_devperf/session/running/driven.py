"""Run process starts on devices that start their own processes: phones, virtual devices, and the apps on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pytest_devperf.errors import CaseError, DevperfError
from pytest_devperf.session.cases.case_state import AppCase
from pytest_devperf.session.cases.edge import Display
from pytest_devperf.session.cases.found import StartFound
from pytest_devperf.session.devices.cooler import Cooler
from pytest_devperf.session.launch.follow import WorkerResult
from pytest_devperf.session.readiness import note_wait
from pytest_devperf.session.schedule import Batch, Member
from pytest_devperf.session.starts.meters.app import LaunchOptions, reports_of, start_of
from pytest_devperf.session.starts.meters.bench import Bench, Tools
from pytest_devperf.session.starts.orders import LaterOrders
from pytest_devperf.session.starts.start import CaseStart

if TYPE_CHECKING:
    from pytest_devperf.measure.cooldown import Cooling
    from pytest_devperf.sensor.context import Context
    from pytest_devperf.targets.app.wire import CaseReport
    from pytest_devperf.targets.protocol import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """Measures the cases of a batch one after another, without their tests."""

    tools: Tools
    cooler: Cooler
    seed: int
    display: Display
    warn: Callable[[str | None], None]
    """Shows a warning, if there is one."""

    def run(self, batch: Batch, waited: Cooling | None, prerun: Context | None) -> Iterator[StartFound]:
        """Run a batch.

        Args:
            batch: One process start of one or more cases.
            waited: Result of the wait for the device to cool down.
            prerun: The idle device before the batch.
        """
        order = list(batch.members)
        random.Random(self.seed + batch.request.process).shuffle(order)  # noqa: S311 - an order, not a secret
        hosts: dict[int, list[Member]] = {}
        for member in order:
            if member.state.app is None:
                yield self._measure(member, waited, prerun)
            else:
                hosts.setdefault(member.state.app.host, []).append(member)
        for group in hosts.values():
            yield from self._launch(group, waited, prerun)

    def profile(self, batch: Batch) -> Iterator[StartFound]:
        """Run a batch to look where its time goes.

        There is no wait for the device to cool: heat slows all parts of a workload alike, which the comparison of
        profiles takes out.

        Args:
            batch: One process start of one or more cases.
        """
        for member in batch.members:
            yield self._measure(member, None, None)

    def _measure(self, member: Member, waited: Cooling | None, prerun: Context | None) -> StartFound:
        state, request, target = member.state, member.request, _target_of(member)
        orders = LaterOrders(state.case.id, request.process, request.role, request.start_plans)
        cool_again = partial(self.cooler.again, state=state)
        bench = Bench(state.case, orders, lambda _: target, self.tools, cool_again)
        self.display.measuring(state.case)
        try:
            bench.notes.target = target
            bench.start.prerun = prerun
            bench.notes.look()
            self.warn(note_wait(bench.start, waited))
            for probe in state.probes:
                probe.repeat(bench, target)
            bench.notes.finish()
        except DevperfError as error:
            return StartFound(state=state, process=request.process, problem=error)
        return StartFound(
            state=state, process=request.process, result=WorkerResult(begun=True, start=bench.start), prerun=prerun
        )

    def _launch(self, group: Sequence[Member], waited: Cooling | None, prerun: Context | None) -> Iterator[StartFound]:
        """Launch an app once more, for those of its cases that are still pending."""
        target = _target_of(group[0])
        first, apps = group[0], {member.state.index: _app_of(member) for member in group}
        app = apps[first.state.index]
        process = first.request.process
        names = {each.name for each in apps.values()}
        options = LaunchOptions(
            done=tuple(name for name in app.siblings if name not in names), build=False, announce=self.display.announce
        )
        around = CaseStart(process=process, role="rounds", device=target.device, facts=dict(app.facts))
        around.prerun = prerun
        reports: dict[str, CaseReport] = {}
        problem: DevperfError | None = None
        try:
            around.looks.append(self.tools.look(target))
            self.warn(note_wait(around, waited))
            (start_plan,) = first.request.start_plans.values()
            wanted = replace(app.app, cases=tuple(names))
            for report in reports_of(target, wanted, start_plan, first.state.case.plan, options):
                reports[report.case] = report
            around.looks.append(self.tools.look(target))
        except DevperfError as error:
            problem = error
        for member in group:
            yield _found(member, apps[member.state.index], reports, around, problem)


def _target_of(member: Member) -> Target:
    target = member.state.target
    assert target is not None
    return target


def _app_of(member: Member) -> AppCase:
    app = member.state.app
    assert app is not None
    return app


def _found(
    member: Member, app: AppCase, reports: dict[str, CaseReport], around: CaseStart, problem: DevperfError | None
) -> StartFound:
    """Find a case's report of a later launch; a missing or failed report is a problem of the case."""
    state, process = member.state, around.process
    report = reports.get(app.name)
    words = f"process start {process + 1}"
    if report is None:
        problem = problem or CaseError(
            f"{state.case.id}: {words} did not report this case", "report the same cases in every start"
        )
    elif report.outcome == "passed":
        start = start_of(report, app.app, around, process=process, rounds=state.case.plan.rounds)
        return StartFound(
            state=state, process=process, result=WorkerResult(begun=True, start=start), prerun=around.prerun
        )
    else:
        problem = CaseError(f"{state.case.id}: {report.outcome} in {words}: {report.reason}")
    return StartFound(state=state, process=process, problem=problem)

"""Cases reported by an app: each becomes a case of the session, including start 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from pytest_devperf.case.case import Case
from pytest_devperf.session.cases.case_state import AppCase, CaseState, TestAddress
from pytest_devperf.session.cases.edge import Reporter
from pytest_devperf.session.starts.meters.app import AppLaunch, start_of

TakeUp = Callable[[Case, TestAddress], CaseState]
"""Adds a case to the session."""


def take_up_app_cases(host: CaseState, launch: AppLaunch, take_up: TakeUp, reporter: Reporter) -> Iterator[CaseState]:
    """Add the cases that an app reported in start 1.

    Args:
        host: The test that launched the app.
        launch: The reports of the app.
        take_up: Adds a case.
        reporter: Reports them as separate tests.
    """
    (around,) = host.starts
    names = tuple(report.case for report in launch.reports)
    for report in launch.reports:
        case = replace(host.case, id=f"{host.case.id}[{report.case}]")
        state = take_up(case, host.address)
        state.target = host.target
        state.app = AppCase(host=host.index, name=report.case, app=launch.app, siblings=names, facts=around.facts)
        state.starts.append(start_of(report, launch.app, around, process=0, rounds=case.plan.rounds))
        state.outcome = reporter.add_app_case(host, state, report)
        yield state

"""The process starts that show where the time of cases goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from pytest_devperf.explain.profile import Profile
from pytest_devperf.measure.round import StartPlan
from pytest_devperf.metric import NS_PER_MS
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.explaining.choice import iterations_for
from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.schedule import Batch, Member
from pytest_devperf.session.starts.start import results_of


def saved_profile(state: CaseState, metric: str) -> Profile | None:
    """Find the profile that was taken when the newest run of the baseline was saved."""
    if state.baseline is None:
        return None
    known = (profile for run in state.baseline.runs for profile in run.record.profiles)
    return next((profile for profile in known if profile.metric == metric), None)


def iterations_of(state: CaseState, metric: str | None) -> dict[str, int]:
    """Choose the iterations of each metric that is to be profiled: as many as in the saved profile, if they fit.

    Args:
        state: The case.
        metric: The metric; None: all that are timed.
    """
    assert state.record is not None
    timed = results_of(state.starts)
    found = {}
    for each in state.record.metrics:
        if each.name in timed and each.robust is not None and metric in {None, each.name}:
            saved = saved_profile(state, each.name)
            most = iterations_for(each.robust * NS_PER_MS)
            found[each.name] = most if saved is None else min(most, saved.iterations)
    return found


def batches_of(
    states: Sequence[CaseState], at: int, of: int, wanted: Mapping[int, Mapping[str, int]]
) -> Iterator[Batch]:
    """Make one profiled process start of some cases, for each device that runs them.

    Args:
        states: The cases.
        at: Zero-based place of the process start.
        of: Number of process starts.
        wanted: Iterations of each metric that is profiled, by the index of the case.
    """
    process = at + max(_next_process(state) for state in states)
    by_target: dict[int, list[Member]] = {}
    for state in states:
        member = Member(state, _request(state, at, of, process, wanted[state.index]))
        by_target.setdefault(id(state.target), []).append(member)
    for members in by_target.values():
        target = members[0].state.target
        assert target is not None, "only cases that ran on a device are profiled"
        yield Batch(target, tuple(members))


def _request(state: CaseState, at: int, of: int, process: int, iterations: Mapping[str, int]) -> StartRequest:
    plan = partial(StartPlan, process=process, total_rounds=1, processes=1)
    return StartRequest(
        phase=0,
        place=at,
        of=of,
        what="where the time went, start",
        process=process,
        role="profile",
        start_plans={
            metric: plan(rounds=int(metric in iterations), iterations=iterations.get(metric, 1))
            for metric in results_of(state.starts)
        },
    )


def _next_process(state: CaseState) -> int:
    """Give the index of the next process start: none is used twice."""
    return 1 + max(start.process for start in (*state.starts, *state.again, *state.old.starts))

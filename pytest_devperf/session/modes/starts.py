"""The number of process starts of a case, and the plan of each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_devperf.case.plan import rounds_of_start
from pytest_devperf.compare.bound import early_bound_ns, pace_of
from pytest_devperf.measure.round import StartPlan, StartResult
from pytest_devperf.measure.undisturbed import earlier_of
from pytest_devperf.metric import LATENCY, TOLD_ONLY
from pytest_devperf.session.case_state import CaseState
from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.start import CaseStart, Role, results_of

SOLO_STARTS = 3
"""Fewest starts that measure load and memory: fewer than three values are not enough for a verdict."""

SOLO = "load and memory, start"
"""Name of a start that measures load and memory."""

ENDED_EARLY = frozenset({"early-pass", "converged", "too-slow"})
"""Why the rounds of a metric ended before the plan did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What may end a case before all its rounds are taken."""

    bound: bool = False
    """Whether an early pass may: a run that is saved always has all its rounds."""
    converge: bool = False
    """Whether convergence may."""


def starts_of(state: CaseState) -> int:
    """Count the process starts that take rounds."""
    if state.app is not None and state.app.app.no_launch:
        return 1  # an app that is started by hand is started once, for all rounds
    return state.case.plan.processes


def solo_starts_of(state: CaseState, starts: int) -> int:
    """Count the starts that take load and memory; none if one process takes everything."""
    return max(SOLO_STARTS, starts) if state.starts and state.starts[0].solo and starts > 1 else 0


def counted(starts: Sequence[CaseStart], *, solo: bool) -> int:
    """Count the starts that take load and memory, or those that take rounds."""
    return sum(1 for start in starts if (start.role == "solo") is solo)


def role_of(starts: int) -> Role:
    """Say what a start with rounds takes: everything, if it is the only one."""
    return "rounds" if starts > 1 else "all"


def first_plan(state: CaseState, metric: str, ending: Ending) -> StartPlan:
    """Plan what start 1 does for a metric that it meets; the pace may come from the baseline."""
    plan = state.case.plan
    pace = pace_of(state.baseline, metric) if state.baseline is not None else None
    iterations, inner_loops = pace or (plan.iterations, None)
    if "iterations" in state.case.named:
        iterations = plan.iterations
    return StartPlan(
        process=0,
        rounds=rounds_of_start(plan.rounds, plan.processes, 0),
        total_rounds=plan.rounds,
        processes=plan.processes,
        iterations=iterations,
        inner_loops=inner_loops,
        fixed=pace is not None,
        bound_ns=_bound(state, metric, plan.rounds) if ending.bound else None,
        converge=ending.converge,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which part of a look a process start takes."""

    process: int
    """Index of the start."""
    place: int
    """Its zero-based place among the starts that spread the rounds."""
    starts: int
    """How many these are."""


def later_plans(
    state: CaseState, part: Part, ending: Ending, *, known: Sequence[CaseStart], first: Sequence[CaseStart]
) -> Mapping[str, StartPlan]:
    """Plan a later start for every metric that start 1 measured.

    Args:
        state: The case.
        part: Which start it is.
        ending: What may end the case early.
        known: Earlier starts whose rounds count for that.
        first: The starts by whose pace it goes, start 1 the first of them.
    """
    if state.app is not None:
        return {LATENCY: _plan_of_app(state, part)}
    earlier = results_of(known)
    return {
        metric: _later_plan(state, metric, part, ending, (start_results[0], earlier.get(metric, ())))
        for metric, start_results in results_of(first).items()
    }


def _later_plan(
    state: CaseState, metric: str, part: Part, ending: Ending, found: tuple[StartResult, Sequence[StartResult]]
) -> StartPlan:
    first, known = found
    look = state.look
    total = first.total_rounds if look is None or look.rounds is None else look.rounds
    stopped = any(start_result.stop in ENDED_EARLY for start_result in known)
    return StartPlan(
        process=part.process,
        rounds=0 if stopped else rounds_of_start(total, part.starts, part.place),
        total_rounds=total,
        processes=part.starts,
        iterations=first.iterations,
        inner_loops=first.inner_loops,
        fixed=True,
        earlier=earlier_of(known),
        bound_ns=_bound(state, metric, total) if ending.bound else None,
        converge=ending.converge,
    )


def _plan_of_app(state: CaseState, part: Part) -> StartPlan:
    """Plan a later launch of an app: every start runs its part of the rounds."""
    first = next(iter(results_of(state.starts).values()), None)
    plan = state.case.plan
    return StartPlan(
        process=part.process,
        rounds=max(1, rounds_of_start(plan.rounds, part.starts, part.place)),
        total_rounds=plan.rounds,
        processes=part.starts,
        iterations=first[0].iterations if first else plan.iterations,
        fixed=True,
    )


def _bound(state: CaseState, metric: str, rounds: int) -> float | None:
    if state.baseline is None or _has_series(state):
        return None
    return early_bound_ns(
        state.baseline, metric, state.policy, rounds, starts=starts_of(state), confirming=state.look is not None
    )


def _has_series(state: CaseState) -> bool:
    """Return whether the same rounds give further series: they would end with `latency`, unjudged."""
    if state.baseline is None:
        return False
    record = state.baseline.runs[0].record
    names = [each.name for each in record.metrics if each.kind == "rounds"]
    return "first_item" in names or (record.workload.kind == "command" and len(names) > 1)


def has_something_to_do(state: CaseState, start_plans: Mapping[str, StartPlan]) -> bool:
    """Return whether a further start with rounds would add anything."""
    if state.app is not None:
        # Loads and sizes need as many launches as there are.
        return any(start.scalars or start.timed for start in state.starts)
    recorded = set() if _runs_test_once(state) else _recorded(state.starts)
    return bool(recorded - TOLD_ONLY) or any(start_plan.rounds > 0 for start_plan in start_plans.values())


def measured_once(state: CaseState) -> frozenset[str]:
    """Return the metrics that no later start measures again: what a test records itself if it is run only once."""
    if not _runs_test_once(state):
        return frozenset()
    return frozenset(_recorded(state.starts[:1]) - _recorded((*state.starts[1:], *state.again)))


def _runs_test_once(state: CaseState) -> bool:
    """Return whether later starts repeat the workload without its test: the device starts its own processes."""
    return state.app is None and state.target is not None and not is_this_machine(state.target)


def _recorded(starts: Sequence[CaseStart]) -> set[str]:
    return {each.metric.name for start in starts for each in start.scalars if each.metric.kind == "recorded"}


def rounds_request(
    state: CaseState, part: Part, ending: Ending, *, known: Sequence[CaseStart], phase: int, of: int, what: str
) -> StartRequest | None:
    """Ask for a start of a first look that takes rounds; None if it would add nothing.

    Args:
        state: The case.
        part: Which start it is.
        ending: What may end the case early.
        known: Earlier starts whose rounds count for that.
        phase: Phase of the request.
        of: How many starts the phase has.
        what: What the starts of the phase are called.
    """
    start_plans = later_plans(state, part, ending, known=known, first=state.starts)
    if not has_something_to_do(state, start_plans):
        return None
    return StartRequest(
        phase=phase,
        place=part.place,
        of=of,
        what=what,
        process=part.process,
        role=role_of(part.starts),
        start_plans=start_plans,
    )


def solo_request(phase: int, place: int, of: int, process: int, *, what: str = SOLO) -> StartRequest:
    """Ask for a start that takes load and memory of one case."""
    return StartRequest(
        phase=phase, place=place, of=of, what=what, process=process, role="solo", start_plans={}, alone=True
    )

"""The number of process starts of a case, and the plan of each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_devperf.case.plan import MIN_NARROW_ROUNDS, rounds_of_first_look, rounds_of_start
from pytest_devperf.compare.stopping.bound import early_bound_ns, pace_of
from pytest_devperf.measure.round import StartPlan, StartResult
from pytest_devperf.measure.undisturbed import earlier_of
from pytest_devperf.metric import INFORMATIONAL, LATENCY
from pytest_devperf.session.cases.case_state import CaseState
from pytest_devperf.session.modes.mode import StartRequest
from pytest_devperf.session.starts.device import is_this_machine
from pytest_devperf.session.starts.start import CaseStart, Role, results_of

if TYPE_CHECKING:
    from pytest_devperf.compare.history import Baseline

SOLO_STARTS = 3
"""Fewest starts that measure load and memory: fewer than three values are not enough for a verdict."""

SOLO = "load and memory, start"
"""Name of a start that measures load and memory."""

ENDED_EARLY = frozenset({"early-pass", "converged", "too-slow"})
"""Reasons for which the rounds of a metric end before the plan does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The reasons that may end a case before all its rounds are taken."""

    bound: bool = False
    """Whether an early pass may end it: a saved run always has all its rounds."""
    converge: bool = False
    """Whether convergence may end it."""


def starts_of(state: CaseState) -> int:
    """Count the process starts with rounds."""
    if state.app is not None and state.app.app.no_launch:
        return 1  # an app that the user starts is started once, for all rounds
    if state.starts and state.starts[0].narrow and "processes" not in state.case.named:
        return max(state.case.plan.processes, MIN_NARROW_ROUNDS)  # every start has one round
    return state.case.plan.processes


def solo_starts_of(state: CaseState, starts: int) -> int:
    """Count the starts that measure load and memory; none if one process measures everything."""
    return max(SOLO_STARTS, starts) if state.starts and state.starts[0].solo and starts > 1 else 0


def counted(starts: Sequence[CaseStart], *, solo: bool) -> int:
    """Count the starts that measure load and memory, or those with rounds."""
    return sum(1 for start in starts if (start.role == "solo") is solo)


def role_of(starts: int) -> Role:
    """Return the role of a start with rounds: it measures everything if it is the only one."""
    return "rounds" if starts > 1 else "all"


def first_plan(state: CaseState, metric: str, ending: Ending) -> StartPlan:
    """Plan start 1 for a metric that the test begins to measure; the pace may come from the baseline."""
    plan = state.case.plan
    pace = pace_of(state.baseline, metric) if state.baseline is not None else None
    iterations, inner_loops = pace or (plan.iterations, None)
    if "iterations" in state.case.named:
        iterations = plan.iterations
    return StartPlan(
        process=0,
        rounds=_spread(ending)(plan.rounds, plan.processes, 0),
        total_rounds=plan.rounds,
        processes=plan.processes,
        iterations=iterations,
        inner_loops=inner_loops,
        fixed=pace is not None,
        bound_ns=_bound(state, metric, plan.rounds) if ending.bound else None,
        converge=ending.converge,
    )


def _spread(ending: Ending) -> Callable[[int, int, int], int]:
    """Return how a first look spreads its rounds: so that it can end in its first start, if a bound may end it."""
    return rounds_of_first_look if ending.bound else rounds_of_start


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The part of a look that a process start measures."""

    process: int
    """Index of the start."""
    place: int
    """Its zero-based place among the starts that share the rounds."""
    starts: int
    """Number of these starts."""


def later_plans(
    state: CaseState, part: Part, ending: Ending, *, known: Sequence[CaseStart], first: Sequence[CaseStart]
) -> Mapping[str, StartPlan]:
    """Plan a later start for every metric that start 1 measured.

    Args:
        state: The case.
        part: The part of the start.
        ending: The reasons that may end the case early.
        known: Earlier starts whose rounds count for these.
        first: The starts that determine the pace, beginning with start 1.
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
    spread = _spread(ending) if look is None else rounds_of_start
    return StartPlan(
        process=part.process,
        rounds=0 if stopped else spread(total, part.starts, part.place),
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
    if state.baseline is None or _has_series(state) or _was_unseeded(state.baseline):
        return None
    return early_bound_ns(
        state.baseline, metric, state.policy, rounds, starts=starts_of(state), confirming=state.look is not None
    )


def _was_unseeded(baseline: Baseline) -> bool:
    """Return whether inputs differed in every start of the baseline, which only a second start can show of this run."""
    return any("unseeded" in run.record.cautions for run in baseline.runs)


def _has_series(state: CaseState) -> bool:
    """Return whether the rounds also give further series: if they ended with `latency`, these would stay unjudged."""
    if state.baseline is None:
        return False
    record = state.baseline.runs[0].record
    names = [each.name for each in record.metrics if each.kind == "rounds"]
    return "first_item" in names or (record.workload.kind == "command" and len(names) > 1)


def has_something_to_do(state: CaseState, start_plans: Mapping[str, StartPlan]) -> bool:
    """Return whether a further start with rounds would add anything."""
    if state.app is not None:
        # Loads and sizes need all launches.
        return any(start.scalars or start.timed for start in state.starts)
    return records_values(state) or any(start_plan.rounds > 0 for start_plan in start_plans.values())


def records_values(state: CaseState) -> bool:
    """Return whether every start of a case gives values that its test records itself."""
    recorded = set() if _runs_test_once(state) else _recorded(state.starts)
    return bool(recorded - INFORMATIONAL)


def measured_once(state: CaseState) -> frozenset[str]:
    """Return the metrics that no later start measures again: values that a test records, if it runs only once."""
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
    """Request a start of a first look with rounds; None if it would add nothing.

    Args:
        state: The case.
        part: The part of the start.
        ending: The reasons that may end the case early.
        known: Earlier starts whose rounds count for these.
        phase: Phase of the request.
        of: Number of starts in the phase.
        what: Name of the starts in the phase.
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
    """Request a start that measures load and memory of one case."""
    return StartRequest(
        phase=phase, place=place, of=of, what=what, process=process, role="solo", start_plans={}, alone=True
    )
